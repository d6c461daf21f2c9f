#include "algorithms/sparse/on_node.hpp"

#include <algorithm>
#include <new>

#include "mpi/user_code.hpp"
#include "taquin/error.hpp"

namespace taquin::detail {

// Arguments that the data's step needs later.
void sparse_on_node::keep(const sparse_blocks& x) {
  destinations_.emplace(x.destinations.begin(), x.destinations.end(), &budget_);
  counts_.emplace(x.destinations.size(), 0, &budget_);
  for (std::size_t i = 0; i < x.destinations.size(); ++i) (*counts_)[i] = x.counts[static_cast<int>(i)];
}

bool sparse_on_node::find(const sparse_blocks& x, bool at_once, bool named) {
  bool kept = at_once;
  try {
    if (!at_once) keep(x);
    kept = true;
  } catch (const budget_exceeded&) {
  } catch (const std::bad_alloc&) {
  }
  step_.emplace(c_, at_once ? node_step::purpose::all_at_once : node_step::purpose::headers, named, mine_);
  constexpr std::size_t of_result = sizeof(int) + sizeof(count_t);
  const std::size_t each = at_once ? of_result : of_result + sizeof(header);
  if (kept)
    step_->post(x.destinations, x.counts, {budget_.limit() - budget_.used(), each});
  else
    step_->refuse();
  return step_->agreed();
}

void sparse_on_node::close(statistics* s) {
  if (s != nullptr) {
    step_->account(*s);
    s->peak_memory = std::max(s->peak_memory, budget_.used() + step_->payload_used());
  }
  invalid_ = step_->invalid();
  step_.reset();
}

void sparse_on_node::found(statistics* s) { close(s); }

bool sparse_on_node::begin_data(bool ready) {
  step_.emplace(c_, node_step::purpose::data, false, mine_);
  if (ready)
    step_->post(*destinations_, count_view(counts_->data()), {budget_.limit() - budget_.used(), 0});
  else
    step_->refuse();
  if (step_->agreed()) return true;
  step_.reset();
  return false;
}

void sparse_on_node::receive(std::byte* into) {
  step_->each([&](const node_step::block& b) {
    const count_t n = elements_of(b);
    step_->copy(b, 0, n, into);
    into += n * mine_.element.extent;  // cppcheck-suppress uselessAssignmentPtrArg
  });
}

std::exception_ptr sparse_on_node::deliver(count_t elements, const sparse_call::taker& take, std::byte* chunk) {
  std::exception_ptr thrown;
  std::size_t number = 0;
  step_->each([&](const node_step::block& b) {
    const count_t n = elements_of(b);
    for (count_t first = 0; first < n && !thrown && !step_->invalid(); first += elements) {
      const count_t now = std::min(elements, n - first);
      step_->copy(b, first, now, chunk);
      if (step_->invalid()) return;
      try {
        const mpi::user_code by_taker(*c_.calls());
        take({number, first, now, chunk});
      } catch (...) {
        thrown = std::current_exception();
      }
    }
    ++number;
  });
  return thrown;
}

void sparse_on_node::end(statistics* s) {
  step_->end();
  close(s);
}

}  // namespace taquin::detail

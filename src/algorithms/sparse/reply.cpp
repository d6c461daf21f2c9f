// Replies: received blocks are answered. It is a sparse exchange of its own, whose destinations are the sources of the
// first, found once.
#include <algorithm>
#include <memory_resource>
#include <new>
#include <utility>
#include <vector>

#include "algorithms/sparse/state.hpp"
#include "datatypes/committed.hpp"
#include "datatypes/typed_copy.hpp"

namespace taquin {

namespace {

constexpr count_t most_chunk = count_t{64} << 10U;  // bytes

}  // namespace

void sparse_call::state::reply(const void* answers, MPI_Datatype type, void* into) {
  running.check_may_call();
  const char* invalid_text = nullptr;
  if (!back) {
    back.emplace(sparse_call({answers, *sources, count_view(counts->data()), type}, requested_on, opts,
                             invalid_text_of(type), nullptr));
    replied = type;
  }
  state& reverse = *back->state_;
  if (type != replied) invalid_text = "answers have the type of the first ones";
  if (answers == nullptr && elements() > 0) invalid_text = "null address of answers";
  reverse.data.at = static_cast<const std::byte*>(answers);
  reverse.recorded(nullptr, [&] {
    if (invalid_text != nullptr || into == nullptr || std::ranges::is_sorted(own.destinations))
      return reverse.receive(into, invalid_text);
    reply_in_order(static_cast<std::byte*>(into));
  });
}

// Answers arrive by rank, those of one rank in the order of this rank's requests.
void sparse_call::state::reply_in_order(std::byte* into) {
  state& reverse = *back->state_;
  const element e = reverse.data.element;
  struct place {
    int rank;
    std::size_t block;  // of those that this rank gave
    count_t first;      // elements before it
  };
  std::pmr::memory_resource* const memory = reverse.budget ? &*reverse.budget : std::pmr::new_delete_resource();
  std::pmr::vector<place> places(memory);
  try {
    places.reserve(own.destinations.size());
  } catch (const std::bad_alloc&) {
    return reverse.receive(nullptr, "no memory for the order of the answers");
  } catch (const budget_exceeded&) {
    return reverse.receive(nullptr, "no memory for the order of the answers");
  }
  count_t first = 0;
  for (std::size_t b = 0; b < own.destinations.size(); ++b) {
    places.push_back({own.destinations[b], b, first});
    first += own.counts[static_cast<int>(b)];
  }
  std::ranges::sort(places, {}, [](const place& p) { return std::pair(p.rank, p.block); });
  const count_t chunk = std::max<count_t>(1, most_chunk / std::max({count_t{1}, e.size, e.extent}));
  reverse.deliver(chunk, [&](const sparse_call::chunk& p) {
    std::byte* const to = into + (places[p.block].first + p.first) * e.extent;
    typed_copy(static_cast<const std::byte*>(p.data), p.count, e, to, p.count, e);
  });
}

}  // namespace taquin

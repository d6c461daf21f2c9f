#include "plan/plan_state.hpp"

#include <algorithm>

#include "base/environment.hpp"
#include "base/sizes.hpp"
#include "plan/preparation.hpp"
#include "plan/propose.hpp"
#include "select/choose.hpp"
#include "taquin/error.hpp"

namespace taquin::detail {

std::uint64_t facts_of(const exchange& x) noexcept {
  return static_cast<std::uint64_t>(x.kind) << 1U | (x.in_place ? mpi::whereabouts::in_place : 0);
}

std::size_t elements_needed(const exchange& x, int ranks) {
  if (x.kind != exchange::form::alltoallw || exchange_fault::of(x) != nullptr) return 0;
  return (x.in_place && x.symmetric ? 1U : 2U) * as_size(ranks);
}

exchange with_elements(const exchange& x, int ranks, std::pmr::vector<element>& elements) {
  exchange y = x;
  const bool shared = x.in_place && x.symmetric;  // both sides have the receive side's types
  elements.reserve(elements_needed(x, ranks));
  for (int i = 0; i < ranks; ++i) elements.push_back(element::of(x.recv.types[i]));
  if (!shared)
    for (int i = 0; i < ranks; ++i) elements.push_back(element::of(x.send.types[i]));
  y.recv.elements = elements.data();
  y.send.elements = elements.data() + (shared ? 0 : ranks);
  return y;
}

plan_state::plan_state(const exchange& x, const options& o, bool reused)
    : running(facts_of(x) | (reused ? mpi::whereabouts::plan : 0), patience::of(o), o.stats),
      budget(o.memory, &pool),
      elements(&budget),
      types(&budget) {}

void plan_state::begin(const exchange& x, const options& given, bool lacks_memory) {
  options o = given;
  if (environment::get().invalid_argument.empty()) o.progress = progress_of(given);
  by_thread = o.progress == progress_by::thread;
  preparation(*this, x, o, running.is_plan()).run(lacks_memory);
}

// After an error that takes this rank out of the call, messages could still come into buffers that the program frees.
template <class Step>
auto plan_state::or_drop(Step step) {
  try {
    return step();
  } catch (...) {
    if (running.lost()) {
      tuned = nullptr;
      body.reset();
    }
    throw;
  }
}

void plan_state::start() {
  running.check_idle("the plan");
  or_drop([&] { running.start([&]() -> operation& { return *body; }, by_thread); });
  if (tuned != nullptr) chosen = tuned->running();
}

bool plan_state::test() {
  if (!running.under_way()) return true;
  if (!or_drop([&] { return running.test(); })) return false;
  end();
  return true;
}

void plan_state::wait() {
  if (!running.under_way()) return;
  or_drop([&] { running.wait(); });
  end();
}

void plan_state::run() {
  running.check_idle("the plan");
  if (running.is_plan()) running.count();
  or_drop([&] {
    running.stage([&] {
      try {
        body->run();
      } catch (const error&) {
        if (tuned != nullptr) chosen = tuned->running();
        throw;
      }
    });
  });
  const mpi::communicator* const comm = running.comm();
  chooser* const choices = running.is_plan() || comm == nullptr ? nullptr : chooser::known(*comm);
  if (choices != nullptr) choices->took(PMPI_Wtime() - begun);
  if (tuned != nullptr) chosen = tuned->running();
  end();
}

void plan_state::end() {
  running.algorithm = chosen->name;
  running.account([&](statistics& s) { body->account(s); }, budget.peak());
}

}  // namespace taquin::detail

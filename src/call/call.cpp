#include "call/call.hpp"

#include <fmt/format.h>

#include <array>
#include <exception>
#include <span>

#include "base/collective_error.hpp"
#include "call/elements.hpp"
#include "mpi/check.hpp"
#include "mpi/collectives.hpp"
#include "node/blocking_channel.hpp"
#include "taquin/error.hpp"

namespace taquin::detail {

void check_communicator(MPI_Comm user, const char* what) {
  if (user == MPI_COMM_NULL) throw usage_error("null communicator", MPI_ERR_COMM);
  if (what != nullptr && mpi::is_inter(user))
    throw usage_error(fmt::format("{} needs an intracommunicator", what), MPI_ERR_COMM);
}

call::presence::presence(const call& c)
    : here_(c.comm_ != nullptr ? &c.comm_->calls() : nullptr, c.comm_ != nullptr ? c.call_word_ : 0),
      present_(c.comm_.get()) {
  if (c.timeout_.seconds > 0 && c.comm_ != nullptr) [[unlikely]]
    clock_.emplace(known_comm::of(*c.comm_), c.call_word_, c.number_, c.algorithm, c.timeout_);
}

void call::set_up(MPI_Comm user, bool counted) {
  user_ = user;
  mpi::or_abort([this](const std::exception& why) { abort(why); },
                [&] {
                  mpi::communicator* state = mpi::communicator::find(user);
                  const bool first = state == nullptr;
                  if (first && mpi::is_inter(user)) return;
                  std::optional<call_deadline> clock;
                  if (first && timeout_.seconds > 0) [[unlikely]]
                    clock.emplace(known_comm{user}, call_word_, 1, algorithm, timeout_);
                  node_ = blocking_channel(user);
                  if (node_ != nullptr) mpi::check_may_call(*node_->calls());  // the pending one may be in its memory
                  if (first && node_ != nullptr) {
                    if (clock) clock->entered(node_->calls(), records_of(user), node_->calls()->calls + 1);
                    // Some ranks may have entered the step with their blocks, also where no private communicator is.
                    synchronize_on_node(*node_);
                  }
                  if (first) {
                    const mpi::set_up_scope together(node_);
                    state = &mpi::communicator::get_or_create(user);
                  }
                  if (!state->kept.has(peer_records::kept_as)) share_calls(user, *state);
                  comm_ = state->keep();
                  // The step has no timeout in the first call on a communicator.
                  if (counted && node_ != nullptr && !(first && timeout_.seconds > 0)) {
                    number_ = comm_->calls().calls.load(std::memory_order_relaxed);
                  } else {
                    count();
                  }
                });
}

void call::abort(const std::exception& why) noexcept {
  if (comm_ != nullptr) {
    comm_->abort(why);
  } else {
    detail::abort_call(user_, why);
  }
}

bool call::lost() const noexcept { return comm_ != nullptr && comm_->calls().lost.load(std::memory_order_relaxed); }

void call::count() {
  if (comm_ != nullptr) number_ = mpi::count_call(comm_->calls());
}

agreed call::agree(proposal mine, int tag, const agreement_path& path, std::pmr::memory_resource* memory) {
  mine.call_word = call_word_;
  mine.number = number_;
  mine.elements = known_elements::here();
  mine.choices ^= known_elements::fingerprint();
  mine.may_leave = timeout_.seconds > 0 && timeout_.then == after_timeout::fail;
  return detail::agree(*comm_, tag, mine, path, memory);
}

agreed call::agree(const proposal& mine, std::pmr::memory_resource* memory) {
  return agree(mine, comm_->next_tag() + mpi::communicator::agreement_tag, path_of(*comm_, node_), memory);
}

bool call::agree_again(const findings& mine, std::string_view what) {
  std::array<std::uint64_t, findings_bytes / sizeof(std::uint64_t)> all{mine.lacking, mine.invalid ? 1U : 0U,
                                                                        mine.any ? 1U : 0U, mine.usual};
  const std::span<std::uint64_t> further = std::span(all).subspan(4, mine.largest.size());
  std::ranges::copy(mine.largest, further.begin());
  if (comm_->size() > 1) mpi::allreduce(std::span(all).first(4 + further.size()), MPI_MAX, comm_->get());
  std::ranges::copy(further, mine.largest.begin());
  if (all[1] > 0) agree_on_invalid_argument(*comm_, mine.invalid);
  if (all[0] > 0) throw_memory_needed(what, all[0], all[3], mine.limit);
  return all[2] > 0;
}

void call::check_idle(std::string_view what) const {
  if (operation_ != nullptr) throw usage_error(fmt::format("{} is started already", what), MPI_ERR_REQUEST);
}

namespace {

// The reason of a rank that aborts because it destroys an operation that it has started.
class destroyed_in_progress final : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "it was destroyed before it was complete"; }
};

}  // namespace

void call::forget() noexcept {
  if (in_progress() && !mpi::finalized()) {
    bool done = false;
    try {
      const presence here(*this);
      done = poll();
    } catch (...) {  // it is not over
    }
    if (!done) abort(destroyed_in_progress());
    operation_ = nullptr;
  }
  mpi::started::forget();
}

void call::poll_for_abort() {
  try {
    mpi::present::poll();
  } catch (...) {
    operation_->failed();
    throw;
  }
}

bool call::test() {
  if (operation_ == nullptr) return true;
  return stage([this] {
    try {
      const bool done = poll();
      if (!done) poll_for_abort();
      if (done) operation_ = nullptr;
      return done;
    } catch (...) {
      operation_ = nullptr;
      mpi::started::forget();  // where this rank has noticed the failure after its poll
      throw;
    }
  });
}

void call::wait() {
  if (operation_ == nullptr) return;
  stage([this] {
    try {
      finish();
    } catch (...) {
      operation_ = nullptr;
      throw;
    }
    operation_ = nullptr;
  });
}

}  // namespace taquin::detail

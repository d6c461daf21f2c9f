#include "interpose/serve/requests.hpp"

#include <array>
#include <cstddef>
#include <mutex>
#include <new>
#include <unordered_map>

#include "c/translate.hpp"
#include "interpose/reasons.hpp"
#include "interpose/serve/route.hpp"
#include "interpose/settings.hpp"
#include "taquin/error.hpp"

namespace taquin::interpose {

std::atomic<int> tracked_requests{0};

namespace {

struct table {
  std::mutex mutex;
  std::unordered_map<MPI_Request, std::unique_ptr<tracked_request>> all;
};

// Never destroyed: calls may be made while the program ends. Its place exists from the beginning, because functions
// that must not throw read it.
table& requests() noexcept {
  alignas(table) static std::array<std::byte, sizeof(table)> place;
  static auto* const t = new (place.data()) table;
  return *t;
}

}  // namespace

void track(MPI_Request request, std::unique_ptr<tracked_request> r) {
  table& t = requests();
  const std::lock_guard lock(t.mutex);
  auto& place = t.all[request];
  // MPI libraries have one handle for all requests that are immediately complete.
  if (place != nullptr && !place->persistent()) place->completed(0);
  place = std::move(r);
  tracked_requests.store(static_cast<int>(t.all.size()), std::memory_order_relaxed);
}

tracked_request* tracked(MPI_Request request) noexcept {
  table& t = requests();
  const std::lock_guard lock(t.mutex);
  const auto found = t.all.find(request);
  return found == t.all.end() ? nullptr : found->second.get();
}

void untrack(MPI_Request request) noexcept {
  table& t = requests();
  std::unique_ptr<tracked_request> gone;  // its plan goes when the table is free
  const std::lock_guard lock(t.mutex);
  const auto found = t.all.find(request);
  if (found == t.all.end()) return;
  gone = std::move(found->second);
  t.all.erase(found);
  tracked_requests.store(static_cast<int>(t.all.size()), std::memory_order_relaxed);
}

void untrack_all() noexcept {
  table& t = requests();
  const std::lock_guard lock(t.mutex);
  t.all.clear();
  tracked_requests.store(0, std::memory_order_relaxed);
}

// All ranks have started it as often, so all take the same way.
tracked_request::by tracked_request::next() {
  ++starts_;
  sampled_ = false;
  if (ways_ != nullptr && ways_->lost()) {
    if (observed_) observed_->left = ways_->by_library();
    ways_.reset();
  }
  if (ways_ == nullptr || !ways_->is_next()) return by::library;
  sampled_ =
      ways_->settled() && observed_ && settings::get().at_end == settings::report::full && starts_ % sampling == 0;
  return sampled_ ? by::library : by::plan;
}

int tracked_request::refuse_start() noexcept {
  try {
    throw usage_error("the request is active already", MPI_ERR_REQUEST);
  } catch (...) {
    return fail(comm_);
  }
}

int tracked_request::fail_start() noexcept { return fail(comm_); }

outcome tracked_request::left_to_library() const {
  if (sampled_) return {.reason = reasons::sampled};
  return ways_ != nullptr ? ways_->by_library() : observed_->left;
}

int tracked_request::started(by who, double begun) noexcept {
  active_ = who;
  done_ = false;
  code_ = MPI_SUCCESS;
  call_ = {};
  if (observed_) {
    try {
      call_event call(observed_->call, observed_->kind, observed_->site, starts_);
      if (sampled_) call.traits.sample();
      call_ = call.started(who == by::plan ? ways_->by_taquin() : left_to_library(), observed_->data);
    } catch (...) {
      active_ = by::nobody;
      return fail(comm_);
    }
  }
  call_.seconds = now() - begun;
  return MPI_SUCCESS;
}

bool tracked_request::poll() noexcept {
  if (done_) return true;
  try {
    done_ = ways_->test();
  } catch (...) {
    code_ = detail::code_of_current_exception();
    done_ = true;
  }
  return done_;
}

void tracked_request::finish() noexcept {
  if (done_) return;
  try {
    ways_->wait();
  } catch (...) {
    code_ = detail::code_of_current_exception();
  }
  done_ = true;
}

void tracked_request::completed(double seconds) noexcept {
  call_.seconds += seconds;
  if (ways_ != nullptr && !sampled_) ways_->completed(call_.seconds);
  call_.completed();
  active_ = by::nobody;
}

}  // namespace taquin::interpose

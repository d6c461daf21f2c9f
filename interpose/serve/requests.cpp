#include "interpose/serve/requests.hpp"

#include <array>
#include <cstddef>
#include <functional>
#include <mutex>
#include <new>
#include <utility>

#include "c/translate.hpp"
#include "interpose/reasons.hpp"
#include "interpose/serve/route.hpp"
#include "interpose/settings.hpp"
#include "taquin/error.hpp"

namespace taquin::interpose {

std::atomic<int> tracked_requests{0};

// By their handles, in lists that pass through them, so that adding one allocates nothing.
class request_table {
 public:
  // Never destroyed: calls may be made while the program ends. Its place exists from the beginning, because functions
  // that must not throw read it.
  static request_table& get() noexcept {
    alignas(request_table) static std::array<std::byte, sizeof(request_table)> place;
    static auto* const t = new (place.data()) request_table;
    return *t;
  }

  void add(MPI_Request request, std::shared_ptr<tracked_request> r) noexcept {
    const std::shared_ptr<tracked_request> last = take(request);
    // MPI libraries have one handle for all requests that are immediately complete, and use others again.
    if (last != nullptr && !last->persistent()) last->completed(0);
    const std::lock_guard lock(mutex_);
    r->handle_ = request;
    auto& list = list_of(request);
    r->next_ = std::move(list);
    list = std::move(r);
    tracked_requests.fetch_add(1, std::memory_order_relaxed);
  }
  [[nodiscard]] std::shared_ptr<tracked_request> find(MPI_Request request) noexcept {
    const std::lock_guard lock(mutex_);
    return *place_of(request);
  }
  // Null where it is not there, or not `which`.
  std::shared_ptr<tracked_request> take(MPI_Request request, const tracked_request* which = nullptr) noexcept {
    const std::lock_guard lock(mutex_);
    auto* const place = place_of(request);
    if (*place == nullptr || (which != nullptr && place->get() != which)) return nullptr;
    std::shared_ptr<tracked_request> found = std::move(*place);
    *place = std::move(found->next_);
    tracked_requests.fetch_sub(1, std::memory_order_relaxed);
    return found;
  }
  void clear() noexcept {
    for (auto& list : lists_)
      while (list != nullptr) static_cast<void>(take(list->handle_));
  }

 private:
  static constexpr int lists = 10;  // as a power of two

  // Fibonacci hashing: handles are addresses, or consecutive numbers.
  std::shared_ptr<tracked_request>& list_of(MPI_Request request) noexcept {
    constexpr std::uint64_t golden = 0x9e3779b97f4a7c15;
    return lists_[std::hash<MPI_Request>()(request) * golden >> (64 - lists)];
  }
  // That of the end of the list where it is not there.
  std::shared_ptr<tracked_request>* place_of(MPI_Request request) noexcept {
    auto* place = &list_of(request);
    while (*place != nullptr && (*place)->handle_ != request) place = &(*place)->next_;
    return place;
  }

  std::mutex mutex_;
  std::array<std::shared_ptr<tracked_request>, std::size_t{1} << lists> lists_;
};

void track(MPI_Request request, std::shared_ptr<tracked_request> r) noexcept {
  request_table::get().add(request, std::move(r));
}

std::shared_ptr<tracked_request> tracked(MPI_Request request) noexcept { return request_table::get().find(request); }

bool untrack(MPI_Request request, const tracked_request* which) noexcept {
  return request_table::get().take(request, which) != nullptr;  // its plan goes when the table is free
}

void untrack_all() noexcept { request_table::get().clear(); }

// All ranks have started it as often, so all take the same way. A start without memory is not counted.
tracked_request::by tracked_request::next() {
  if (served_ != nullptr) served_->prepare_start();
  ++starts_;
  sampled_ = false;
  if (served_ != nullptr && served_->lost()) {
    if (observed_) observed_->left = served_->by_library();
    served_.reset();
  }
  if (served_ == nullptr || !served_->is_next()) return by::library;
  sampled_ =
      served_->settled() && observed_ && settings::get().at_end == settings::report::full && starts_ % sampling == 0;
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
  return served_ != nullptr ? served_->by_library() : observed_->left;
}

int tracked_request::started(by who, double started_at) noexcept {
  active_ = who;
  done_ = false;
  code_ = MPI_SUCCESS;
  call_ = {};
  if (observed_) {
    try {
      call_event call(observed_->call, observed_->kind, observed_->site, starts_);
      if (sampled_) call.traits.sample();
      call_ = call.started(who == by::plan ? served_->by_taquin() : left_to_library(), observed_->data);
    } catch (const std::bad_alloc&) {  // the call runs; it is missing in the report
    }
  }
  call_.seconds = now() - started_at;
  return MPI_SUCCESS;
}

bool tracked_request::poll() noexcept {
  if (done_) return true;
  try {
    done_ = served_->test();
  } catch (...) {
    code_ = detail::code_of_current_exception();
    done_ = true;
  }
  return done_;
}

void tracked_request::finish() noexcept {
  if (done_) return;
  try {
    served_->wait();
  } catch (...) {
    code_ = detail::code_of_current_exception();
  }
  done_ = true;
}

void tracked_request::completed(double seconds) noexcept {
  call_.seconds += seconds + spent_.exchange(0, std::memory_order_relaxed);
  if (served_ != nullptr && !sampled_) served_->completed(call_.seconds);
  call_.completed();
  active_ = by::none;
}

}  // namespace taquin::interpose

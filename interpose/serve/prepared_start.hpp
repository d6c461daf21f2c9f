// The memory of a nonblocking call, taken before the call is counted: without it the call is not entered.
#pragma once

#include <mpi.h>

#include <memory>
#include <utility>

#include "interpose/event.hpp"
#include "interpose/serve/call_sides.hpp"
#include "interpose/serve/requests.hpp"

namespace taquin::interpose {

template <class Server>
class prepared_start {
 public:
  /// `make()` gives the server of a call that taquin may serve; otherwise the call may be observed.
  template <class Make>
  prepared_start(MPI_Comm comm, bool may_serve, Make make) {
    if (!may_serve && !observing()) return;
    std::unique_ptr<Server> server;
    mpi::inactive_request stand_in;
    if (may_serve) {
      server = make();
      stand_in = make_stand_in();
      server_ = server.get();
    }
    request_ = std::make_shared<tracked_request>(comm, std::move(server), std::move(stand_in));
  }

  [[nodiscard]] Server& server() const noexcept { return *server_; }
  /// The call has started, by its server or by the MPI library, which has set `request`.
  void posted(MPI_Request* request, bool by_server, const call_in_flight& call) noexcept {
    if (by_server) *request = request_->stand_in();
    request_->posted(by_server, call);
    track(*request, std::move(request_));
  }

 private:
  Server* server_ = nullptr;
  std::shared_ptr<tracked_request> request_;
};

}  // namespace taquin::interpose

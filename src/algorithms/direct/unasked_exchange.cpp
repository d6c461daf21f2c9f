#include "algorithms/direct/unasked_exchange.hpp"

#include <fmt/format.h>

#include <utility>

#include "datatypes/typed_copy.hpp"
#include "exchange/validate.hpp"
#include "mpi/check.hpp"
#include "mpi/newer_names.hpp"
#include "taquin/error.hpp"

namespace taquin::detail {

namespace {

std::byte* at(const blocks& side, int peer) noexcept { return static_cast<std::byte*>(side.base) + side.offset(peer); }

}  // namespace

std::size_t unasked_exchange::footprint(int ranks) noexcept {
  return sizeof(unasked_exchange) + mpi::request_set::bytes(2 * static_cast<std::size_t>(ranks));
}

unasked_exchange::unasked_exchange(const exchange& x, mpi::communicator& comm, int tag,
                                   std::optional<invalid_argument> bad, std::pmr::memory_resource* memory)
    : x_(x),
      comm_(comm),
      tag_(tag),
      bad_(std::move(bad)),
      requests_(2 * static_cast<std::size_t>(comm.size()), memory),
      types_(memory) {
  requests_.describe_by(this);
  requests_.keep_truncations();
}

void unasked_exchange::start() {
  if (bad_) refuse();
  for (int distance = 1; distance < comm_.size(); ++distance) post(distance);
  const int own = comm_.rank();
  if (x_.send.counts[own] > 0 && x_.send.bytes(own) <= x_.recv.bytes(own))
    typed_copy(at(x_.send, own), x_.send.counts[own], x_.send.element_of(own), at(x_.recv, own), x_.recv.counts[own],
               x_.recv.element_of(own));
}

void unasked_exchange::post(int distance) {
  const int p = comm_.size();
  const int from = (comm_.rank() - distance + p) % p;
  const int to = (comm_.rank() + distance) % p;
  const auto message = [&](const blocks& side, int peer) {
    auto c = mpi::make_counted(side.bytes(peer) > 0 ? side.counts[peer] : 0, side.element_of(peer).type);
    if (c.owner.get() != MPI_DATATYPE_NULL) types_.push_back(std::move(c.owner));
    return c;
  };
  const auto in = message(x_.recv, from);
  requests_.receive(receive_from(from), at(x_.recv, from), in.count, in.type, from, tag_, comm_.get());
  const auto out = message(x_.send, to);
  requests_.send(send_to(to), at(x_.send, to), out.count, out.type, to, tag_, comm_.get());
}

// Nobody waits for this rank, and this rank leaves nothing behind that a later call could take for its own.
void unasked_exchange::refuse() {
  for (int peer = 0; peer < comm_.size(); ++peer)
    if (peer != comm_.rank()) requests_.send(send_to(peer), nullptr, 0, MPI_BYTE, peer, tag_, comm_.get());
  std::vector<std::byte> unwanted;
  for (int peer = 0; peer < comm_.size(); ++peer) {
    if (peer == comm_.rank()) continue;
    MPI_Status status;
    int there = 0;
    for (mpi::backoff waiting; there == 0; waiting.pause())
      mpi::check(MPI_Iprobe(peer, tag_, comm_.get(), &there, &status), "MPI_Iprobe");
    MPI_Count bytes = 0;
    mpi::check(MPI_Get_elements_x(&status, MPI_BYTE, &bytes), "MPI_Get_elements_x");
    if (bytes == MPI_UNDEFINED) bytes = 0;
    unwanted.resize(static_cast<std::size_t>(bytes));
    const auto c = mpi::make_counted(bytes, MPI_BYTE);
    mpi::check(MPI_Recv(unwanted.data(), c.count, c.type, peer, tag_, comm_.get(), &status), "MPI_Recv");
  }
  requests_.complete_all(true, [](std::size_t) { return count_t{0}; });
  throw usage_error(fmt::format("rank {}: {}", comm_.rank(), bad_->what), bad_->mpi_class, comm_.rank(), bad_->peer);
}

void unasked_exchange::came(std::size_t number, const MPI_Status& status) {
  const auto peer = static_cast<int>(number);
  if (peer >= comm_.size() || x_.recv.bytes(peer) == 0 || silent_ >= 0) return;
  int n = 0;
  if (MPI_Get_count(&status, MPI_BYTE, &n) == MPI_SUCCESS && n == 0) silent_ = peer;
}

bool unasked_exchange::test() {
  requests_.test_some([this](std::size_t number, const MPI_Status& status) { came(number, status); },
                      [this](std::size_t number) { return x_.recv.bytes(static_cast<int>(number)); });
  if (requests_.in_flight() > 0) return false;
  end();
  return true;
}

void unasked_exchange::wait() {
  while (requests_.in_flight() > 0)
    requests_.wait_some([this](std::size_t number, const MPI_Status& status) { came(number, status); },
                        [this](std::size_t number) { return x_.recv.bytes(static_cast<int>(number)); });
  end();
}

void unasked_exchange::end() {
  const int own = comm_.rank();
  if (const count_t sent = x_.send.bytes(own); sent > x_.recv.bytes(own))
    throw usage_error(too_long(own, sent, own, x_.recv.bytes(own)), MPI_ERR_TRUNCATE, own, own);
  if (const auto long_one = requests_.take_truncation()) mpi::refuse_truncation(*long_one, own);
  if (silent_ < 0) return;
  throw usage_error(fmt::format("rank {} sends nothing to rank {}, which expects {} bytes: its call has failed, or its "
                                "counts do not match",
                                silent_, own, x_.recv.bytes(silent_)),
                    MPI_ERR_OTHER, own, silent_);
}

void unasked_exchange::account(statistics& s) const {
  s.rounds += 1;
  for (int peer = 0; peer < comm_.size(); ++peer) {
    if (peer == comm_.rank()) continue;
    ++s.messages;
    s.bytes_sent += static_cast<std::uint64_t>(x_.send.bytes(peer));
  }
}

void unasked_exchange::describe(mpi::wait_note& note) const {
  note.what = "exchanging directly";
  note.comm = comm_.get();
  for (int peer = 0; peer < comm_.size(); ++peer)
    if (requests_.active(receive_from(peer)) || requests_.active(send_to(peer))) note.miss(peer);
}

}  // namespace taquin::detail

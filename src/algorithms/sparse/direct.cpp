#include "algorithms/sparse/direct.hpp"

#include <mpi.h>

#include <algorithm>

#include "base/sizes.hpp"
#include "mpi/probed.hpp"

namespace taquin::detail {

direct_notices::direct_notices(finding& f) : f_(f), buffers_(f.memory), receivers_(f.memory), requests_(0, f.memory) {
  array_list::take(*this, f.in_flight, f.message_bytes);
}

std::size_t direct_notices::footprint(std::size_t in_flight, std::size_t message_bytes) noexcept {
  return array_list::bytes<direct_notices>(in_flight, message_bytes);
}

// A message and its answer, in windows.
std::uint64_t direct_notices::nanoseconds(const sparse_shape& s) noexcept {
  const std::uint64_t messages = std::min<std::uint64_t>(s.blocks, as_size(s.ranks)) + s.blocks / 100;
  return 2 * sparse_latency * (1 + messages / std::max<std::size_t>(s.in_flight, 1)) + 2 * messages * sparse_overhead;
}

std::size_t direct_notices::fill(own_notices& mine, std::span<std::byte> to, std::size_t message_bytes) {
  std::size_t used = 0;
  for (const int receiver = mine.head().to; !mine.over() && mine.head().to == receiver;) {
    const std::size_t n = mine.bytes();
    if (used + n > message_bytes) break;
    if (to.empty())
      mine.skip();
    else
      mine.write(to.data() + used);
    used += n;
  }
  return used;
}

bool direct_notices::waits_for(int receiver) const noexcept {
  for (std::size_t i = 0; i < receivers_.size(); ++i)
    if (receivers_[i] == receiver && requests_.active(i)) return true;
  return false;
}

bool direct_notices::send() {
  bool news = requests_.in_flight() > 0 &&
              requests_.test_some([](std::size_t, const MPI_Status&) {}, [](std::size_t) { return count_t{0}; }) > 0;
  while (!f_.mine.over()) {
    const std::size_t i = requests_.free_number();
    if (i == requests_.size() || waits_for(f_.mine.head().to)) break;
    const std::span<std::byte> message(buffers_.data() + i * f_.message_bytes, f_.message_bytes);
    const int to = f_.mine.head().to;
    const std::size_t n = fill(f_.mine, message, f_.message_bytes);
    news = true;
    if (to == f_.comm.rank()) {
      unpack(message.first(n));
      continue;
    }
    requests_.send_synchronously(i, message.data(), static_cast<int>(n), MPI_BYTE, to, f_.tag + finding::first_tag,
                                 f_.comm.get());
    receivers_[i] = to;
    ++f_.messages;
    f_.bytes += n;
  }
  return news;
}

void direct_notices::unpack(std::span<const std::byte> message) {
  while (!message.empty()) {
    const std::size_t n = notice_head::of(message).bytes(f_.element_bytes);
    f_.add(message.first(n));
    message = message.subspan(n);
  }
}

bool direct_notices::take() {
  mpi::probed message;
  if (!message.look(f_.comm.get(), f_.tag + finding::first_tag)) return false;
  std::byte* const into = buffers_.data() + requests_.size() * f_.message_bytes;
  message.receive(into);
  ++taken_;
  unpack({into, as_size(message.bytes)});
  return true;
}

}  // namespace taquin::detail

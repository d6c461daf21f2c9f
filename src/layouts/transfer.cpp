#include "layouts/transfer.hpp"

#include <algorithm>

#include "base/sizes.hpp"
#include "layouts/access.hpp"
#include "mpi/backoff.hpp"

namespace taquin::detail {

std::size_t transfer_sizes::bytes(std::size_t axes, std::size_t element) const noexcept {
  return 3 * layout_transfer::stream::bytes(axes, runs) + chunk_copier::bytes(axes) +
         mpi::request_set::bytes(2 * buffers) + 2 * buffers * as_size(elements) * element;
}

namespace {

constexpr std::size_t most_runs = 512;

std::size_t bytes_of_run(std::size_t axes, std::size_t element) noexcept {
  return transfer_sizes{1, 2, 1}.bytes(axes, element) - transfer_sizes().bytes(axes, element);
}

}  // namespace

// The runs have a quarter of the memory.
std::size_t transfer_sizes::enough(std::size_t axes, std::size_t element, int in_flight) noexcept {
  return std::max(within(unlimited, axes, element, in_flight).bytes(axes, element),
                  4 * most_runs * bytes_of_run(axes, element));
}

transfer_sizes transfer_sizes::within(std::size_t memory, std::size_t axes, std::size_t element,
                                      int in_flight) noexcept {
  constexpr std::size_t usual = std::size_t{1000} << 10U;  // all together, with the layouts no more than 1 MiB
  constexpr std::size_t usual_chunk = std::size_t{64} << 10U;
  constexpr std::size_t largest_chunk = std::size_t{96} << 10U;
  constexpr std::size_t least_chunk = 4096;
  transfer_sizes s;
  s.runs = std::clamp<std::size_t>(memory / 4 / bytes_of_run(axes, element), 1, most_runs);
  for (s.buffers = in_flight > 0 ? std::min(as_size(in_flight), std::size_t{16}) : 4; s.buffers > 0; --s.buffers) {
    s.elements = 0;
    const std::size_t fixed = s.bytes(axes, element);
    const std::size_t most_chunk =
        std::clamp((usual - std::min(usual, fixed)) / (2 * s.buffers), usual_chunk, largest_chunk);
    const std::size_t space = memory > fixed ? (memory - fixed) / (2 * s.buffers) : 0;
    s.elements = static_cast<count_t>(std::max<std::size_t>(std::min(space, most_chunk), element) / element);
    if (s.buffers == 1 || space >= std::max(least_chunk, element)) break;
  }
  if (s.bytes(axes, element) > memory) return {};
  return s;
}

layout_transfer::stream::stream(const layout_transfer& all, bool sends, std::pmr::memory_resource* memory)
    : walk(all.shape_.problem, all.sizes_.elements, all.sizes_.runs, memory),
      all_(all),
      sends_(sends),
      mine_(all.shape_.problem.axes.size(), 0, memory),
      theirs_(all.shape_.problem.axes.size(), 0, memory) {
  sends ? all.shape_.sender(all.comm_.rank(), mine_) : all.shape_.receiver(all.comm_.rank(), mine_);
}

int layout_transfer::stream::peer() const noexcept {
  const int p = all_.comm_.size();
  return (sends_ ? all_.comm_.rank() + step_ : all_.comm_.rank() - step_ + p) % p;
}

void layout_transfer::stream::begin() {
  step_ = mine_.front() == outside_grid ? all_.comm_.size() : 0;
  find();
}

void layout_transfer::stream::next() {
  if (!walk.next()) find();
}

// The next rank that there are chunks for.
void layout_transfer::stream::find() {
  while (++step_ <= all_.comm_.size()) {
    if (own() && !sends_) continue;  // the sender copies them
    sends_ ? all_.shape_.receiver(peer(), theirs_) : all_.shape_.sender(peer(), theirs_);
    if (theirs_.front() == outside_grid) continue;
    if (sends_ ? walk.begin(mine_, theirs_) : walk.begin(theirs_, mine_)) return;
  }
}

layout_transfer::layout_transfer(const layout_shape& shape, const transfer_sizes& sizes, std::size_t element,
                                 const written_part& part, const number_change& change, mpi::communicator& comm,
                                 int tag, std::pmr::memory_resource* memory)
    : shape_(shape),
      sizes_(sizes),
      element_(element),
      buffer_bytes_(as_size(sizes.elements) * element),
      comm_(comm),
      tag_(tag),
      sent_(*this, true, memory),
      posted_(*this, false, memory),
      unpacked_(*this, false, memory),
      copier_(shape.problem.axes.size(), element, memory, part),
      change_(change),
      staging_(2 * sizes.buffers * buffer_bytes_, memory),
      requests_(2 * sizes.buffers, memory) {
  requests_.describe_by(this);
}

void layout_transfer::start() {
  next_send_ = next_post_ = next_unpack_ = waiting_ = 0;
  messages_ = bytes_sent_ = bytes_copied_ = 0;
  done_ = {};
  for (stream* s : {&sent_, &posted_, &unpacked_}) s->begin();
  progress();
}

// Unpacks the chunks that have arrived, and posts receives for others; false: there was nothing to do.
bool layout_transfer::receive() {
  bool any = false;
  for (;;) {
    for (; waiting_ < sizes_.buffers && !posted_.at_end(); posted_.next()) {
      requests_.receive(sizes_.buffers + next_post_, buffer(sizes_.buffers + next_post_),
                        static_cast<int>(chunk_bytes(posted_)), MPI_BYTE, posted_.peer(), tag_, comm_.get());
      next_post_ = (next_post_ + 1) % sizes_.buffers;
      ++waiting_;
      any = true;
    }
    if (waiting_ == 0 || requests_.active(sizes_.buffers + next_unpack_)) return any;
    copier_.unpack(unpacked_.walk, buffer(sizes_.buffers + next_unpack_), to_);
    bytes_copied_ += chunk_bytes(unpacked_);
    ++done_.received;
    unpacked_.next();
    next_unpack_ = (next_unpack_ + 1) % sizes_.buffers;
    --waiting_;
    any = true;
  }
}

// Sends a chunk, or copies one of this rank's own; false: there was nothing to do.
bool layout_transfer::send() {
  if (sent_.at_end()) return false;
  const std::size_t bytes = chunk_bytes(sent_);
  if (sent_.own() && !change_) {
    copier_.copy(sent_.walk, from_, to_);
  } else {
    if (requests_.active(next_send_)) return false;
    copier_.pack(sent_.walk, from_, buffer(next_send_));
    change_.apply(buffer(next_send_), bytes);
    if (sent_.own()) {
      copier_.unpack(sent_.walk, buffer(next_send_), to_);
    } else {
      requests_.send_synchronously(next_send_, buffer(next_send_), static_cast<int>(bytes), MPI_BYTE, sent_.peer(),
                                   tag_, comm_.get());
      next_send_ = (next_send_ + 1) % sizes_.buffers;
      ++messages_;
      bytes_sent_ += bytes;
    }
  }
  bytes_copied_ += bytes;
  if (sent_.own()) ++done_.copied;
  sent_.next();
  return true;
}

// False where this rank waits for others.
bool layout_transfer::progress() {
  const auto capacity = [&](std::size_t) { return static_cast<count_t>(buffer_bytes_); };
  bool any = requests_.in_flight() > 0 && requests_.test_some([](std::size_t, const MPI_Status&) {}, capacity) > 0;
  any = receive() || any;
  return send() || any;
}

bool layout_transfer::test() {
  while (progress()) continue;
  return sent_.at_end() && waiting_ == 0 && posted_.at_end() && requests_.in_flight() == 0;
}

void layout_transfer::wait() {
  for (mpi::backoff waiting(this); !test();) waiting.pause();
}

void layout_transfer::account(statistics& s) const {
  ++s.rounds;
  s.messages += messages_;
  s.bytes_sent += bytes_sent_;
  s.bytes_copied += bytes_copied_;
}

void layout_transfer::describe(mpi::wait_record& to) const {
  to.what = "chunks of a redistribution between layouts";
  to.comm = comm_.get();
  if (waiting_ > 0) to.miss(unpacked_.peer());
  if (!sent_.at_end() && !sent_.own()) to.miss(sent_.peer());
}

}  // namespace taquin::detail

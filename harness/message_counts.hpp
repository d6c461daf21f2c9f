// Counts unexpected messages at a rank. Sends are matched with receives as MPI does: by
// sender, receiver and tag, in order; a receive from any sender takes the first waiting or next message. All ranks
// are on one machine and count in memory that they share.
#pragma once

#include <mpi.h>
#include <sched.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <new>

namespace taquin::harness {

/// `Request`: what a persistent request is known by. Tags share counters by their remainder by `tags`. Of one sender
/// and tag at most `ring` messages may wait.
template <class Request, std::size_t tags, std::size_t ring>
class message_counts {
 public:
  struct of_rank {
    std::atomic<std::int64_t> messages{0}, bytes{0}, untaken{0}, sent{0};
    std::atomic<std::int64_t> most_messages{0}, most_bytes{0}, most_untaken{0};
    std::atomic_flag matching;  // of messages to this rank
  };
  /// A persistent request: a send of so many bytes, or a receive.
  struct prepared {
    bool sends;
    std::size_t bytes;
    int peer, tag;
    MPI_Comm comm;
  };

  /// Bytes of shared memory, of which untouched pages use none.
  static std::size_t memory(int ranks) noexcept {
    const auto p = static_cast<std::size_t>(ranks);
    return p * sizeof(of_rank) + p * (p + 1) * tags * sizeof(line);
  }
  /// The memory, all zero at first.
  void attach(void* memory, int rank, int ranks) {
    rank_ = rank;
    ranks_ = ranks;
    totals_ = static_cast<of_rank*>(memory);
    lines_ = reinterpret_cast<line*>(totals_ + ranks);
  }
  [[nodiscard]] bool attached() const noexcept { return lines_ != nullptr; }
  /// Restarts the counts of this rank at 0. No message is in flight, and no rank counts.
  void clear_mine() {
    new (totals_ + rank_) of_rank;
    for (int from = 0; from <= ranks_; ++from)
      for (int tag = 0; tag < static_cast<int>(tags); ++tag) {
        line& l = line_of(from, rank_, tag);
        if (l.sent.load() == 0 && l.requested.load() == 0) continue;
        l.waiting = 0;
        l.sent = l.requested = 0;
      }
  }
  [[nodiscard]] const of_rank& of(int rank) const noexcept { return totals_[rank]; }

  static std::size_t bytes_of(std::size_t count, MPI_Datatype type) {
    int size = 0;
    PMPI_Type_size(type, &size);
    return count * static_cast<std::size_t>(size);
  }
  void sent(std::size_t bytes, int peer, int tag, MPI_Comm comm) {
    if (!attached() || peer < 0) return;
    const int to = in_world(peer, comm);
    if (to == rank_ || to < 0) return;
    if (bytes > 0) ++totals_[rank_].sent;
    const turn of_receiver(totals_[to].matching);
    line& l = line_of(rank_, to, tag);
    l.bytes[l.sent++ % ring] = static_cast<std::uint32_t>(bytes);
    if (l.waiting++ < 0) return;
    if (line& any = line_of(ranks_, to, tag); any.waiting < 0) {
      ++any.waiting;
      --l.waiting;
      ++l.requested;
      return;
    }
    if (bytes == 0) return;
    of_rank& there = totals_[to];
    of_rank& here = totals_[rank_];
    raise(there.most_messages, ++there.messages);
    raise(there.most_bytes, there.bytes += static_cast<std::int64_t>(bytes));
    raise(here.most_untaken, ++here.untaken);
  }
  void requested(int peer, int tag, MPI_Comm comm) {
    if (!attached() || (peer < 0 && peer != MPI_ANY_SOURCE)) return;
    const turn mine(totals_[rank_].matching);
    if (peer == MPI_ANY_SOURCE) {
      for (int from = 0; from < ranks_; ++from)
        if (line_of(from, rank_, tag).waiting > 0) return take(from, tag);
      --line_of(ranks_, rank_, tag).waiting;
      ++line_of(ranks_, rank_, tag).requested;
    } else if (const int from = in_world(peer, comm); from != rank_ && from >= 0) {
      take(from, tag);
    }
  }
  void keep(Request request, const prepared& what) {
    const std::scoped_lock lock(guard_);
    persistent_[request] = what;
  }
  void started(Request request) {
    prepared p{};
    {
      const std::scoped_lock lock(guard_);
      const auto found = persistent_.find(request);
      if (found == persistent_.end()) return;
      p = found->second;
    }
    p.sends ? sent(p.bytes, p.peer, p.tag, p.comm) : requested(p.peer, p.tag, p.comm);
  }

 private:
  // Its owner matches.
  struct turn {
    explicit turn(std::atomic_flag& one) : flag(one) {
      while (flag.test_and_set(std::memory_order_acquire)) sched_yield();
    }
    ~turn() { flag.clear(std::memory_order_release); }
    turn(const turn&) = delete;
    turn& operator=(const turn&) = delete;
    std::atomic_flag& flag;
  };

  // A receive of what `from` has sent, or will send.
  void take(int from, int tag) {
    line& l = line_of(from, rank_, tag);
    const std::uint32_t n = l.requested++;
    if (l.waiting-- <= 0) return;
    const std::int64_t bytes = l.bytes[n % ring];
    if (bytes == 0) return;
    --totals_[rank_].messages;
    totals_[rank_].bytes -= bytes;
    --totals_[from].untaken;
  }

  // One sender's messages of one tag to one receiver: sent minus requested, and their bytes in order. Those of sender
  // `ranks_` are receives from any sender that nothing has matched.
  struct line {
    std::atomic<std::int32_t> waiting;
    std::atomic<std::uint32_t> sent, requested;
    std::array<std::uint32_t, ring> bytes;
  };

  // Those of senders to one receiver stand side by side: a pair of ranks uses few tags.
  line& line_of(int from, int to, int tag) {
    const std::size_t t = static_cast<unsigned>(tag) % tags;
    return lines_[(static_cast<std::size_t>(to) * tags + t) * static_cast<std::size_t>(ranks_ + 1) +
                  static_cast<std::size_t>(from)];
  }
  static void raise(std::atomic<std::int64_t>& most, std::int64_t value) {
    std::int64_t known = most.load();
    while (known < value && !most.compare_exchange_weak(known, value)) {
    }
  }
  static int in_world(int rank, MPI_Comm comm) {
    MPI_Group mine = MPI_GROUP_NULL;
    MPI_Group world = MPI_GROUP_NULL;
    int there = MPI_UNDEFINED;
    PMPI_Comm_group(comm, &mine);
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    PMPI_Group_translate_ranks(mine, 1, &rank, world, &there);
    PMPI_Group_free(&mine);
    PMPI_Group_free(&world);
    return there;
  }

  int rank_ = 0;
  int ranks_ = 1;
  of_rank* totals_ = nullptr;
  line* lines_ = nullptr;
  std::map<Request, prepared> persistent_;
  std::mutex guard_;
};

}  // namespace taquin::harness

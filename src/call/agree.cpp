#include "call/agree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <memory_resource>
#include <new>

#include "base/collective_error.hpp"
#include "base/sizes.hpp"
#include "call/agreement_rounds.hpp"
#include "call/elements.hpp"
#include "call/forwarded_blocks.hpp"
#include "call/log_round.hpp"
#include "mpi/backoff.hpp"
#include "mpi/check.hpp"
#include "mpi/collectives.hpp"
#include "mpi/request_set.hpp"
#include "mpi/simulated_time.hpp"
#include "node/peer_records.hpp"
#include "taquin/error.hpp"

namespace taquin::detail {

namespace {

using record = property_record;
constexpr int most_radix = 8;
constexpr const char* disagreement = "ranks disagree on the algorithm, on an option, or on MPI_IN_PLACE";

/// The rounds of the reduction. Records of some exchanges are longer, and blocks follow those of others; every rank can
/// receive the longest message, and skips blocks if it has none itself: they are then of no use to any rank.
class dissemination {
 public:
  dissemination(mpi::communicator& comm, int tag, bool full, forwarded_blocks* blocks,
                std::pmr::memory_resource* memory)
      : comm_(comm),
        tag_(tag),
        rounds_(comm.size()),
        blocks_(blocks),
        memory_(memory),
        size_(full ? sizeof(property_record) : property_record::head),
        reported_(*new (comm.message<sizeof(record)>()) record) {}

  /// Reduces `v` over all ranks.
  void run(record& v) {
    std::array<MPI_Request, most_radix - 1> requests;
    for (; !rounds_.done(); rounds_.next()) {
      reported_ = v;
      rounds_.begin(v);
      if (blocks_ != nullptr) blocks_->begin_round(rounds_.width());
      log_round(comm_, tag_, rounds_.width(), rounds_.digits(), requests, memory_, ends{this, v});
    }
    rounds_.end(v);
  }

 private:
  // The same record goes to all peers, each with its blocks.
  struct ends {
    dissemination* all;
    record& v;
    std::span<const std::byte> load(int digit) {
      const auto own = std::as_bytes(std::span(&all->reported_, 1)).first(all->size_);
      return all->blocks_ != nullptr ? all->blocks_->load(own, digit) : own;
    }
    std::span<std::byte> buffer() const {
      return all->blocks_ != nullptr ? all->blocks_->buffer() : std::span<std::byte>(all->theirs_);
    }
    // A rank that takes part in another form of exchange may have sent a shorter record.
    void unload(int digit, std::span<const std::byte> from) const {
      record theirs;
      std::memcpy(&theirs, from.data(), std::min(all->size_, from.size()));
      v.merge(theirs);
      all->rounds_.add_up(v, digit, theirs);
      if (all->blocks_ != nullptr) all->blocks_->unload(from);
    }
  };

  mpi::communicator& comm_;
  int tag_;
  agreement_rounds rounds_;
  forwarded_blocks* blocks_;
  std::pmr::memory_resource* memory_;
  std::size_t size_;
  record& reported_;
  std::array<std::byte, forwarded_blocks::most_message> theirs_;
};

// A step of records. This rank's record stays in its room until the rank writes there again, two steps later. A rank
// that entered its step with the blocks of an exchange sees that others did not, and enters the next step here.
void report_on_node(channel& node, const record& mine) {
  bool all = false;
  while (!all) {
    node.begin();
    std::memcpy(node.payload(node.rank()), &mine, sizeof mine);
    for (int rank = 0; rank < node.size(); ++rank) {
      node.to(rank).describe(mailbox::kind::record, 0);
      node.to(rank).steps = 0;
      node.publish(rank);
    }
    node.wait_for_mailboxes();
    all = true;
    for (int rank = 0; rank < node.size(); ++rank) all = all && node.from(rank).what() == mailbox::kind::record;
  }
}

// The reduction through the memory of a node: every rank reads the records of all.
void combine_on_node(channel& node, record& v) {
  report_on_node(node, v);
  for (int rank = 0; rank < node.size(); ++rank) {
    if (rank == node.rank()) continue;
    record theirs;
    std::memcpy(&theirs, node.payload(rank), sizeof theirs);
    v.merge(theirs);
  }
}

// The reduction in a step among nodes, whose messages also carry blocks.
void combine_between(int tag, const agreement_path& path, record& v) {
  static_assert(sizeof(record) <= sizeof(internode::record));
  internode& step = *path.between;
  step.begin(tag);
  if (path.blocks != nullptr)
    path.blocks->write();
  else
    step.no_blocks();
  internode::record reported{};
  std::memcpy(reported.data(), &v, sizeof v);
  step.publish(reported);
  const auto merge = [](internode::record& into, const internode::record& from) {
    record all;
    record theirs;
    std::memcpy(&all, into.data(), sizeof all);
    std::memcpy(&theirs, from.data(), sizeof theirs);
    all.merge(theirs);
    std::memcpy(into.data(), &all, sizeof all);
  };
  reported = step.complete(merge);
  std::memcpy(&v, reported.data(), sizeof v);
}

// The reduction in log rounds among all ranks, whose messages also carry blocks.
void combine_by_messages(mpi::communicator& comm, int tag, bool full, const agreement_path& path,
                         std::pmr::memory_resource* memory, record& v) {
  if (path.blocks != nullptr) path.blocks->write();
  dissemination(comm, tag, full, path.blocks != nullptr ? path.forwarded : nullptr, memory).run(v);
}

// Sends `mine` to one rank and receives the same from another.
template <class Word, std::size_t N>
std::array<Word, N> trade(mpi::communicator& comm, int tag, const std::array<Word, N>& mine, int to, int from) {
  MPI_Request request = MPI_REQUEST_NULL;
  std::array<Word, N> theirs{};
  MPI_Status status;
  void* const sent = std::memcpy(comm.message<sizeof mine>(), mine.data(), sizeof mine);
  TAQUIN_MPI(PMPI_Isend(sent, sizeof mine, MPI_BYTE, to, tag, comm.get(), &request));
  try {
    mpi::check(mpi::receive(std::as_writable_bytes(std::span(theirs)), from, tag, comm.get(), status), "MPI_Recv");
    mpi::complete(request, "MPI_Wait");
  } catch (...) {
    if (mpi::abandon(request, mpi::request_kind::send)) comm.outlive();
    throw;
  }
  return theirs;
}

// The rank with the invalid argument broadcasts it. If all ranks have the same one, no rank is named.
[[noreturn]] void report(mpi::communicator& comm, int rank, const std::optional<invalid_argument>& invalid) {
  const invalid_argument_record own = report(invalid);
  invalid_argument_record reported = comm.rank() == rank ? own : invalid_argument_record{};
  mpi::broadcast(std::span(&reported, 1), rank, comm.get());
  int everywhere = comm.size() > 1 && own.text == reported.text ? 1 : 0;
  if (comm.size() > 1) mpi::allreduce(everywhere, MPI_MIN, comm.get());
  refuse(everywhere != 0 ? all_ranks : rank, reported);
}

// Where ranks disagree because they give different elements or are in different calls: names two of them. Collective.
[[noreturn]] void report_calls(mpi::communicator& comm, const proposal& mine) {
  agree_on_elements(comm.get(), mine.elements);
  struct call {
    std::uint64_t call_word = 0;
    std::uint64_t number = 0;
    std::array<char, 32> algorithm{};
    bool operator==(const call&) const = default;
  };
  call own{mine.call_word, mine.number, {}};
  std::copy_n(mine.algorithm.begin(), std::min(mine.algorithm.size(), own.algorithm.size() - 1), own.algorithm.begin());
  call first = own;
  mpi::broadcast(std::span(&first, 1), 0, comm.get());
  std::int32_t rank = own == first ? comm.size() : comm.rank();
  mpi::allreduce(rank, MPI_MIN, comm.get());
  if (rank == comm.size()) throw_on_all_ranks([&] { return usage_error(disagreement, MPI_ERR_ARG); });
  call other = own;
  mpi::broadcast(std::span(&other, 1), rank, comm.get());
  const auto describe = [](const call& c) {
    return fmt::format("{} (its call {} here, algorithm '{}')", name_of_call(c.call_word), c.number,
                       c.algorithm.data());
  };
  throw_on_all_ranks([&] {
    return usage_error(
        fmt::format("ranks disagree: rank 0 calls {}, rank {} {}", describe(first), rank, describe(other)),
        MPI_ERR_ARG);
  });
}

}  // namespace

void synchronize_on_node(channel& node) { report_on_node(node, {}); }

// A text that is too long is cut.
invalid_argument_record report(const std::optional<invalid_argument>& invalid) noexcept {
  invalid_argument_record reported;
  if (!invalid) return reported;
  std::memcpy(reported.text.data(), invalid->what.data(), std::min(invalid->what.size(), reported.text.size() - 1));
  reported.mpi_class = invalid->mpi_class;
  reported.peer = invalid->peer;
  return reported;
}

void refuse(int rank, const invalid_argument_record& reported) {
  throw_on_all_ranks([&] {
    const std::string who = rank == all_ranks ? "all ranks" : fmt::format("rank {}", rank);
    return usage_error(fmt::format("{}: {}", who, reported.text.data()), reported.mpi_class, rank, reported.peer);
  });
}

int agreement_radix(int ranks) noexcept {
  if (ranks == 3 || ranks == 4) return 4;
  int radix = 2;
  while (radix < most_radix && radix * radix < ranks) radix *= 2;
  return radix;
}

agreed agree(mpi::communicator& comm, int tag, const proposal& mine, const agreement_path& path,
             std::pmr::memory_resource* memory) {
  rank_properties ours = static_cast<const rank_properties&>(mine);
  ours.piggybacked = path.blocks != nullptr;
  record v{.invalid_rank = mine.invalid ? comm.rank() + 1 : 0};
  v.report(ours);
  if (path.node != nullptr)
    combine_on_node(*path.node, v);
  else if (path.between != nullptr)
    combine_between(tag, path, v);
  else
    combine_by_messages(comm, tag, mine.full_record, path, memory, v);
  agreed all{v.of_all()};
  all.uniform = all.max_block_bytes == all.min_block_bytes;
  const bool identical = combine::identical::holds(v.numbers.data() + record::choices);
  if (v.invalid_rank != 0 || !identical) mpi::allreduce(v.invalid_rank, MPI_MAX, comm.get());
  if (v.invalid_rank != 0) report(comm, v.invalid_rank - 1, mine.invalid);
  if (!identical) report_calls(comm, mine);
  return all;
}

void agree_on_invalid_argument(mpi::communicator& comm, const std::optional<invalid_argument>& invalid) {
  int invalid_rank = invalid ? comm.rank() : -1;
  if (comm.size() > 1) mpi::allreduce(invalid_rank, MPI_MAX, comm.get());
  if (invalid_rank >= 0) report(comm, invalid_rank, invalid);
}

// Rank by rank, which is slow but allocates nothing: this runs only after an error.
void refuse_mismatch(mpi::communicator& comm, int tag, const exchange& x) {
  const int p = comm.size();
  std::optional<invalid_argument> invalid;
  for (int distance = 0; distance < p; ++distance) {
    const int to = (comm.rank() + distance) % p;
    const int from = (comm.rank() - distance + p) % p;
    const std::array<count_t, 1> mine{x.send[to].bytes()};
    const count_t sent = distance == 0 ? mine[0] : trade(comm, tag, mine, to, from)[0];
    const count_t expected = x.recv[from].bytes();
    if (sent != expected && !invalid) invalid = mismatch(from, sent, comm.rank(), expected);
  }
  agree_on_invalid_argument(comm, invalid);
  throw_on_all_ranks([&] { return usage_error("ranks send other sizes than their peers expect", MPI_ERR_COUNT); });
}

}  // namespace taquin::detail

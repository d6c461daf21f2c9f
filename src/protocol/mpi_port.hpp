// The port over MPI messages; if ranks share memory, receivers fetch data by themselves.
//
// Tags, from the first of a plan's: data; control messages of even and of odd runs, so that those of a rank that is one
// run ahead are not received too early; words of collectives; their sums. Receives of data are not preposted: one is
// posted when its message has been announced (probed), one transfer at a time. MPI libraries that copy data from the
// sender's memory do so inside the call that finds both sides ready. With preposted receives a rank would copy all
// expected data in one call, and answer no request meanwhile. A protocol in which no rank waits for answers posts them
// early (post_now()).
//
// A message of several columns has the first column of all its units, then the second one. Its receive is never posted
// before the message is announced, because the places of the parts follow from its length.
#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>
#include <memory_resource>
#include <vector>

#include "base/raw_buffer.hpp"
#include "base/sizes.hpp"
#include "call/operation.hpp"
#include "mpi/backoff.hpp"
#include "mpi/communicator.hpp"
#include "mpi/owned.hpp"
#include "mpi/request_set.hpp"
#include "node/offers.hpp"
#include "protocol/port.hpp"
#include "protocol/task.hpp"

namespace taquin::detail {

class mpi_port final : public port, private mpi::awaited {
 public:
  /// Everything is taken from `memory`: footprint() bytes. Local. The communicator must outlive the port, and so must
  /// `node`, through which ranks fetch data if it is not null; the units are then without gaps.
  mpi_port(mpi::communicator& comm, int first_tag, store& units, const port_limits& limits,
           std::pmr::memory_resource* memory, node_offers* node = nullptr);
  /// Ends messages that were not received and receives that were not matched.
  ~mpi_port() override { abandon(); }
  /// After a run that failed: ends all pending transfers, before their receive memory is freed.
  void abandon() noexcept {
    requests_.abandon();
    reduction_.reset();
  }

  /// Begins a run of a protocol. All ranks call it equally often.
  void begin_run() noexcept;
  /// Progresses without waiting, until about port::bytes_per_test bytes are copied. True when the task is at its end
  /// and this rank has no pending messages. Throws the task's exception.
  bool test(const task& t);
  void wait(const task& t);
  /// Preposts receives from ranks that are not of this rank's node. Their data are sent without announcement, and
  /// waiting for one would cost a round trip of the network.
  void let_arrive(rank_group own_node) noexcept { announced_ = own_node; }
  /// alltoall() goes by this exchange, of the same buffers each time.
  void exchange_by(operation* dense) noexcept { dense_ = dense; }

  void post(int to, std::span<const word> words) override;
  void post_known(int to, std::span<const word> words) override;
  using port::receive;
  using port::send;
  void receive(int from, std::span<const unit_run> into, std::uint32_t id) override;
  void post_now() override { post_receives(); }
  bool send(int to, std::span<const unit_run> from, std::uint32_t id) override;
  void refuse(int to) override;
  void offer(int peer, const unit_run& units, count_t back = 0) override;
  bool fetch(int from, count_t offset, count_t expected, const unit_run& into, std::uint32_t id) override;
  [[nodiscard]] count_t swappable(int peer) const override;
  count_t swap_some(int peer, const unit_run& space) override;
  [[nodiscard]] swap_counts swaps(int peer) const override;
  [[nodiscard]] double now() const override { return PMPI_Wtime(); }
  [[nodiscard]] word process() const override;
  bool may_read(int from, word process, const remote_part& part) override;
  void read(int from, word process, std::span<const remote_part> parts) override;
  void gone(int to, count_t units) override;

  /// Of the run in progress, or the last one, to other ranks: transfers and control messages; the bytes of either.
  [[nodiscard]] std::uint64_t messages() const noexcept { return messages_; }
  [[nodiscard]] std::uint64_t bytes_sent() const noexcept { return bytes_; }
  [[nodiscard]] std::uint64_t control_bytes() const noexcept { return control_bytes_; }

  /// Bytes that a port takes. Collectives of sums take more: reduction_bytes.
  static std::size_t footprint(const port_limits& limits, std::size_t unit_bytes) noexcept;
  static std::size_t reduction_bytes(int ranks) noexcept;
  static constexpr int first_free_tag = 5;       ///< tags from here on are the protocol's own
  static constexpr std::size_t most_values = 2;  ///< in a sum

 private:
  enum tag : std::uint8_t { data_tag, control_tag, odd_control_tag, words_tag, values_tag };

  struct transfer {
    count_t at = 0;
    count_t length = 0;
    mpi::datatype scattered;  // several runs, at absolute addresses
    int peer = -1;            // −1: there is none
    std::uint32_t id = 0;
    std::uint32_t number = 0;  // of a receive that is not posted yet, in order
    bool incoming = false;
    bool of_collective = false;

    [[nodiscard]] bool waits() const noexcept { return number > 0; }
  };

  bool poll(const filter& f) override;
  event take() override { return next_; }
  bool begin(const collective& c) override;
  bool try_open() override;
  bool try_withdraw(int peer) override;
  bool try_swapped(int peer) override;
  bool find_fetched();
  bool find_taken();
  [[nodiscard]] std::size_t copy_of(std::span<const word> words);
  void count_words(int to, std::span<const word> words) noexcept;
  void describe(mpi::wait_record& to) const override;
  bool find();
  bool find_transfer();
  bool find_message(int from);
  bool idle_too_long();
  void poll();
  void completed(std::size_t number, const MPI_Status& status);
  [[nodiscard]] count_t space(std::size_t number) const noexcept;
  bool advance();
  void exchange_words(const collective& c);
  void share_words(const collective& c);
  struct strided {
    const word* first;
    std::size_t length;
    std::size_t stride;
  };
  void report(const strided& words, int to);
  void collect(std::span<word> words, int from);
  [[nodiscard]] std::size_t join(std::size_t words, int peer);
  void reduce(const collective& c);
  bool collective_complete();
  [[nodiscard]] std::size_t free_transfer() const;
  [[nodiscard]] std::size_t free_number(std::size_t begin, std::size_t end);
  [[nodiscard]] bool can_answer();
  [[nodiscard]] mpi::datatype type_of(std::span<const unit_run> runs);
  [[nodiscard]] mpi::datatype type_of_columns(const unit_run& run);
  void shorten(std::size_t t, const MPI_Status& status);
  void start(std::size_t t);
  [[nodiscard]] bool comes_by_itself(int from) const noexcept {
    return store_.columns().empty() && !announced_.has(from);
  }
  [[nodiscard]] std::size_t oldest_receive(int from) const;
  void post_receive(std::size_t t);
  void post_receives();
  bool admit();
  [[nodiscard]] bool arrived(int from, int what, MPI_Status& status) const;
  [[nodiscard]] std::size_t first_buffer() const noexcept { return limits_.messages; }
  [[nodiscard]] std::size_t first_transfer() const noexcept { return limits_.messages + limits_.send_buffers; }
  [[nodiscard]] int control() const noexcept { return control_tag + odd_run_; }

  friend struct array_list;
  template <class Each>
  static constexpr void arrays(Each each, const port_limits& l, std::size_t unit_bytes) {
    const std::size_t messages = l.messages;
    each(&mpi_port::requests_, messages + l.send_buffers + l.transfers);
    each(&mpi_port::transfers_, std::size_t{l.transfers});
    each(&mpi_port::complete_, std::size_t{l.transfers});
    each(&mpi_port::words_, (messages + 1) * l.words);
    each(&mpi_port::takers_, messages);
    each(&mpi_port::taken_, messages);
    each(&mpi_port::buffers_, l.send_buffers * as_size(l.chunk) * unit_bytes);
    each(&mpi_port::addresses_, std::size_t{l.scattered});
    each(&mpi_port::lengths_, std::size_t{l.scattered});
    each(&mpi_port::values_, most_values);
  }

  mpi::communicator& comm_;
  store& store_;
  port_limits limits_;
  int tag_;
  int odd_run_ = 1;
  std::pmr::memory_resource* memory_;
  mpi::request_set requests_;  // of messages, of packed transfers, of other transfers
  std::pmr::vector<transfer> transfers_;
  std::pmr::vector<std::uint32_t> complete_;  // transfers that are complete and not yet reported: a ring
  std::uint32_t reported_ = 0;
  std::uint32_t in_progress_ = 0;  // transfers
  std::uint32_t sends_ = 0;        // those of them that leave
  std::uint32_t receives_ = 0;     // posted so far
  std::uint32_t unposted_ = 0;
  std::pmr::vector<word> words_;  // of messages, the one that arrived last
  std::pmr::vector<int> takers_;  // of messages whose receipt is reported: their receiver; −1: of others
  std::pmr::vector<int> taken_;   // peers that have received such messages, not reported yet
  std::size_t takers_to_report_ = 0;
  raw_buffer buffers_;
  std::pmr::vector<MPI_Aint> addresses_;  // of the runs of a transfer
  std::pmr::vector<int> lengths_;
  filter filter_;
  event next_{};
  node_offers* node_;
  rank_group announced_ = rank_group::all();  // ranks whose data are announced before they are received
  bool opening_ = false;
  int withdraws_ = -1;  // from this peer; −1: nothing
  int swaps_ = -1;      // waits for this peer; −1: for none
  operation* dense_ = nullptr;
  bool dense_running_ = false;
  std::uint32_t words_left_ = 0;  // pending transfers of the collective
  operation_ptr reduction_;
  std::pmr::vector<std::uint64_t> values_;  // of a sum, that leave
  int fruitless_ = 0;                       // consecutive polls
  bool reported_quiet_ = false;
  double last_news_ = 0;
  std::uint64_t messages_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t control_bytes_ = 0;
};

}  // namespace taquin::detail

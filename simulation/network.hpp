// All ranks of a protocol in one process, without MPI: units move as by a port, in an order that a seed determines, or
// in rounds.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "base/sizes.hpp"
#include "protocol/port.hpp"
#include "protocol/task.hpp"

namespace taquin::detail {

class simulated_port;

/// How events are ordered.
enum class simulated_order : std::uint8_t {
  random,  ///< one event at a time, by the seed; transfers leave from their places early or late
  rounds   ///< all ranks receive and answer all that has arrived, at the same time: for counting rounds
};

/// The work of one rank.
struct simulated_counts {
  std::uint64_t rounds = 0;    ///< the last in which it did anything
  std::uint64_t messages = 0;  ///< sent: control messages, transfers to others
  std::uint64_t units_sent = 0;
  std::uint64_t collectives = 0;
};

/// Units that changed their place in a run: for drawings.
struct simulated_move {
  enum class what : std::uint8_t { arrived, left, moved };
  what kind = what::moved;
  std::uint64_t round = 0;
  int rank = 0;
  int peer = -1;     ///< arrived: who sent them; left: to whom
  count_t from = 0;  ///< left, moved
  count_t to = 0;    ///< arrived, moved
  count_t length = 0;
};

/// The ports of all ranks.
class simulated_network {
 public:
  explicit simulated_network(std::uint64_t seed, simulated_order order = simulated_order::random)
      : order_(order), random_(seed) {}
  /// The next rank's port. Receivers fetch from ranks of the same node if they can.
  simulated_port& add(store& units, const port_limits& limits, std::optional<int> node = {});
  /// Runs the tasks, one per port, to their ends. Throws a task's exception, and simulated_error on a deadlock, when
  /// messages are left over, or when a rank exceeds its port's limits.
  void run(std::span<task> tasks);

  [[nodiscard]] const simulated_counts& counts(std::size_t rank) const;
  /// Called with every move, in their order.
  void trace(std::function<void(const simulated_move&)> seen) { trace_ = std::move(seen); }
  /// Called whenever a rank's task starts to send, post, receive, fetch or read. The task throws its exception.
  void watch_calls(std::function<void()> seen) { called_ = std::move(seen); }
  /// `each_post` is called with every control message and its words, `each_collective` with the most words that a rank
  /// has in a message of a collective in log rounds.
  void watch_messages(std::function<void(int, int, std::size_t)> each_post,
                      std::function<void(std::size_t)> each_collective) {
    posted_ = std::move(each_post);
    collected_ = std::move(each_collective);
  }
  /// Called after each action of a rank, before the next event.
  void deadline(std::function<void()> seen) { seen_ = std::move(seen); }

 private:
  friend class simulated_port;
  struct outgoing {
    std::vector<unit_run> runs;
    std::uint32_t id = 0;
    bool left = false;  // its places may have changed: the data are kept here
    std::vector<std::byte> data{};
  };
  struct incoming {
    std::vector<unit_run> runs;
    std::uint32_t id = 0;
  };
  struct posted {
    std::vector<word> words;
    bool known = false;  // the sender gets an event when it is received
  };
  struct fetching {
    count_t offset = 0;
    unit_run into{};
    std::uint32_t id = 0;
  };
  struct swap {  // of the data that two ranks offer each other
    count_t at = 0;
    count_t length = 0;
  };
  struct wire {  // from one rank to another
    std::deque<outgoing> sends;
    std::deque<incoming> receives;
    std::deque<fetching> fetches;
    std::deque<posted> messages;
    unit_run offered{};
    bool withdrawn = false;
    count_t back = 0;
    std::deque<swap> swaps;  // started; between the lower rank and the higher
    count_t started = 0;
    count_t swapped = 0;
    std::size_t matched = 0;  // sends that have a receive
  };
  using ends = std::pair<int, int>;
  /// One thing that can be delivered.
  struct delivery {
    enum class what : std::uint8_t { message, transfer, fetch, swap } kind;
    ends between;
  };

  static void require(bool kept, const char* limit);
  wire& between(int from, int to) { return wires_[{from, to}]; }
  wire& pair(int a, int b) { return between(std::min(a, b), std::max(a, b)); }
  simulated_port& at(int rank) { return *ports_[as_size(rank)]; }
  [[nodiscard]] std::vector<std::byte> copy_of(int from, std::span<const unit_run> runs);
  void put(int from, int to, const std::vector<std::byte>& data, std::span<const unit_run> into, count_t units,
           std::uint32_t id);
  void deliver(const delivery& d);
  void match(const ends& e);
  void deliver_message(const ends& e);
  void deliver_transfer(const ends& e);
  void deliver_fetch(const ends& e);
  void deliver_swap(const ends& e);
  bool deliver_one();
  bool deliver_all();
  bool collect_if_joined();
  void show_collective() const;
  bool go_on(std::size_t rank, bool quiet = false);
  void at_random();
  void by_rounds();
  [[nodiscard]] bool done() const;
  void expect_nothing_left() const;

  simulated_order order_;
  std::mt19937_64 random_;
  std::vector<std::unique_ptr<simulated_port>> ports_;
  std::span<task> tasks_;
  std::map<ends, wire> wires_;
  std::vector<delivery> deliveries_;
  std::function<void(const simulated_move&)> trace_;
  std::function<void()> seen_;
  std::function<void()> called_;
  std::function<void(int, int, std::size_t)> posted_;
  std::function<void(std::size_t)> collected_;
  std::uint64_t round_ = 0;
  std::uint64_t actions_ = 0;  // of all ranks
};

class simulated_port final : public port {
 public:
  simulated_port(simulated_network& network, store& units, const port_limits& limits, int rank, std::optional<int> node)
      : network_(network), store_(units), limits_(limits), rank_(rank), node_(node) {
    fetches_ = node.has_value();
  }

  void read(int from, word process, std::span<const remote_part> parts) override;

  void post(int to, std::span<const word> words) override;
  void post_known(int to, std::span<const word> words) override;
  using port::receive;
  using port::send;
  void receive(int from, std::span<const unit_run> into, std::uint32_t id) override;
  bool send(int to, std::span<const unit_run> from, std::uint32_t id) override;
  void refuse(int to) override;
  void moved(const unit_run& from, count_t to) override;
  void offer(int peer, const unit_run& units, count_t back = 0) override;
  bool fetch(int from, count_t offset, count_t expected, const unit_run& into, std::uint32_t id) override;
  [[nodiscard]] count_t swappable(int peer) const override;
  count_t swap_some(int peer, const unit_run& space) override;
  [[nodiscard]] swap_counts swaps(int peer) const override;

 private:
  friend class simulated_network;
  bool poll(const filter& f) override;
  event take() override;
  bool try_withdraw(int peer) override;
  bool try_swapped(int peer) override;
  bool try_open() override;
  bool begin(const collective& c) override;
  [[nodiscard]] bool ready();
  [[nodiscard]] bool waits_for_all() const noexcept { return suspended() && joined_; }
  [[nodiscard]] bool can_be_quiet() const noexcept;
  [[nodiscard]] std::size_t message_at_hand(const filter& f) const;
  void report(const event& e);
  void report_sent(int to, std::uint32_t id, std::span<const unit_run> runs);

  simulated_network& network_;
  store& store_;
  port_limits limits_;
  int rank_;
  std::optional<int> node_;
  std::uint32_t in_progress_ = 0;  // transfers without an event yet
  std::uint32_t sends_ = 0;
  std::deque<event> events_;  // of transfers
  std::deque<std::pair<int, simulated_network::posted>> inbox_;
  std::vector<word> words_;
  event next_{};
  filter filter_{};
  bool quiet_ = false;
  int withdraws_ = -1;
  int swaps_ = -1;
  bool joined_ = false;
  collective collective_{};
  simulated_counts counts_;
};

}  // namespace taquin::detail

#include "redistribute/repair.hpp"

#include <algorithm>
#include <map>
#include <memory_resource>
#include <numeric>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/memory_budget.hpp"
#include "base/sizes.hpp"
#include "call/failure_map.hpp"
#include "mpi/check.hpp"
#include "mpi/collectives.hpp"
#include "mpi/communicator.hpp"
#include "mpi/groups.hpp"

namespace taquin::detail {

using failure::part;
using failure::state;

namespace {

bool in_array(const part& p) { return p.what != state::staged && p.what != state::missing; }

// Calls visit(one) for each block of a part.
template <class Visit>
void for_each_block(const part& p, Visit visit) {
  for (count_t k = 0; k < p.length; ++k) visit(part{p.what, p.peer, p.offset + k, 1, p.at < 0 ? -1 : p.at + k});
}

using block_name = std::pair<int, int>;  // the rank and the place that it goes to

// Where the ranks of `before` are in `now`; MPI_UNDEFINED: not there.
std::vector<int> ranks_now(MPI_Comm before, MPI_Comm now) {
  int p = 0;
  TAQUIN_MPI(PMPI_Comm_size(before, &p));
  std::vector<int> there(as_size(p));
  mpi::translate_ranks(before, 0, now, there);
  return there;
}

// Each block has an arbiter: the rank that it goes to, or, if that has failed, one that follows from its number.
struct judges {
  judges(MPI_Comm before, const mpi::communicator& now)
      : there(ranks_now(before, now.get())), old(as_size(now.size())) {
    TAQUIN_MPI(PMPI_Comm_rank(before, &me));
    for (std::size_t r = 0; r < there.size(); ++r)
      if (there[r] != MPI_UNDEFINED) old[as_size(there[r])] = static_cast<int>(r);
  }
  [[nodiscard]] std::size_t arbiter(int to) const {
    const int r = there[as_size(to)];
    return as_size(r == MPI_UNDEFINED ? to % static_cast<int>(old.size()) : r);
  }

  int me = 0;              // before
  std::vector<int> there;  // where ranks are now
  std::vector<int> old;    // which ones they were
};

// An exchange of several numbers between each two ranks, with their counts.
struct number_table {
  explicit number_table(int ranks) : to(as_size(ranks)), layout(4 * as_size(ranks)) {}

  void exchange(mpi::communicator& comm) {
    const std::size_t p = to.size();
    const auto counts = std::span(layout).first(p);
    const auto arrived = std::span(layout).subspan(2 * p, p);
    for (std::size_t r = 0; r < p; ++r) counts[r] = static_cast<int>(to[r].size());
    const std::pmr::vector<int> sizes(counts.begin(), counts.end(), &sent);
    mpi::alltoall(sizes, arrived, comm);
    std::exclusive_scan(counts.begin(), counts.end(), layout.begin() + static_cast<std::ptrdiff_t>(p), 0);
    std::exclusive_scan(arrived.begin(), arrived.end(), layout.begin() + static_cast<std::ptrdiff_t>(3 * p), 0);
    std::pmr::vector<int> out(&sent);
    for (const auto& list : to) out.insert(out.end(), list.begin(), list.end());
    in.resize(as_size(std::reduce(arrived.begin(), arrived.end(), 0)));
    mpi::alltoallv(out, std::span(in), std::span<const int>(layout), comm);
  }
  [[nodiscard]] std::span<const int> from(std::size_t r) const {
    return std::span(in).subspan(as_size(layout[3 * to.size() + r]), as_size(layout[2 * to.size() + r]));
  }

  detail::memory_budget sent;  // what is sent lies there
  std::vector<std::vector<int>> to;
  std::vector<int> layout;  // counts and places of sent and of received numbers
  std::vector<int> in;
};

}  // namespace

void unstage(failure::block_map& map, store& units) {
  std::vector<bool> taken(as_size(units.border()), false);
  for (const auto* list : {&map.outgoing, &map.incoming})
    for (const part& p : *list)
      for (count_t k = 0; in_array(p) && k < p.length; ++k) taken[as_size(p.at + k)] = true;
  std::size_t next = 0;
  std::vector<std::byte> left;  // what finds no place
  const auto unit = as_size(map.unit_bytes);
  const auto place = [&](part p, state elsewhere) {
    const bool own = elsewhere == state::displaced && !taken[as_size(p.offset)];
    while (!own && next < taken.size() && taken[next]) ++next;
    const std::byte* const data = map.staged.data() + as_size(p.at) * unit;
    if (!own && next == taken.size()) {
      p.at = unit == 0 ? 0 : static_cast<count_t>(left.size() / unit);
      left.insert(left.end(), data, data + unit);
      return p;
    }
    p.at = own ? p.offset : static_cast<count_t>(next);
    p.what = own ? state::arrived : elsewhere;
    taken[as_size(p.at)] = true;
    units.write(data, {p.at, 1});
    return p;
  };
  for (auto* list : {&map.incoming, &map.outgoing}) {
    std::vector<part> all;
    for (const part& p : *list) {
      if (p.what != state::staged) {
        append(all, p);
        continue;
      }
      for_each_block(p, [&](const part& one) {
        append(all, place(one, list == &map.incoming ? state::displaced : state::stands));
      });
    }
    *list = std::move(all);
  }
  map.staged = std::move(left);
}

// A rank that has a block for another one claims it. The arbiter of the claim is the rank that the block goes to, or,
// if that has failed, a rank that follows from its number. The arbiter refuses a block that it has already, or that
// another rank has claimed before.
void have_once(failure::block_map& map, bool over, MPI_Comm before, mpi::communicator& now) {
  const judges of(before, now);
  number_table claims(now.size());
  for (const part& p : map.outgoing)
    for_each_block(p, [&](const part& one) {
      auto& to = claims.to[of.arbiter(one.peer)];
      to.push_back(one.peer);
      to.push_back(static_cast<int>(one.offset));
    });
  claims.exchange(now);
  std::set<block_name> known;
  for (const part& p : map.incoming)
    for_each_block(p, [&](const part& one) {
      if (one.what != state::missing) known.emplace(of.me, static_cast<int>(one.offset));
    });
  number_table answers(now.size());
  for (std::size_t r = 0; r < answers.to.size(); ++r) {
    const auto requested = claims.from(r);
    for (std::size_t k = 0; k < requested.size(); k += 2) {
      const bool here = over && requested[k] == of.me;
      answers.to[r].push_back(!here && known.emplace(requested[k], requested[k + 1]).second ? 1 : 0);
    }
  }
  answers.exchange(now);
  std::vector<std::size_t> next(as_size(now.size()), 0);
  std::vector<part> kept;
  for (const part& p : map.outgoing)
    for_each_block(p, [&](const part& one) {
      const std::size_t r = of.arbiter(one.peer);
      if (answers.from(r)[next[r]++] != 0) append(kept, one);
    });
  map.outgoing = std::move(kept);
  std::vector<part> coming;
  for (const part& p : map.incoming)
    for_each_block(p, [&](const part& one) {
      if (one.what != state::missing || !known.contains({of.me, static_cast<int>(one.offset)})) append(coming, one);
    });
  map.incoming = std::move(coming);
}

namespace {

// The previous places of blocks. Each block's holder and its previous holder report to its arbiter. The arbiter replies
// to the first with the previous place, and to the second with the blocks that no rank has.
class origins_of_blocks {
 public:
  origins_of_blocks(const failure::block_map& map, const judges& of, const given_map& given, mpi::communicator& now)
      : of_(of), given_(given), now_(now), homes_(now.size()), nowhere_(now.size()) {
    for (const part& p : map.incoming)
      for_each_block(p, [&](const part& one) {
        if (one.what != state::missing) keep(one, of.me);
      });
    for (const part& p : map.outgoing) for_each_block(p, [&](const part& one) { keep(one, one.peer); });
  }

  void arbiter(bool over) {
    number_table holders(now_.size());
    for (std::size_t k = 0; k < here_.size(); ++k)
      for (const int n : {here_[k].peer, static_cast<int>(here_[k].offset), static_cast<int>(k)})
        holders.to[of_.arbiter(here_[k].peer)].push_back(n);
    holders.exchange(now_);
    number_table origins(now_.size());
    for (int k = 0; k < given_.units(); ++k)
      if (const auto to = static_cast<int>(given_.rank(k)); to >= 0)
        for (const int n : {to, static_cast<int>(given_.index(k)), k}) origins.to[of_.arbiter(to)].push_back(n);
    origins.exchange(now_);

    std::map<block_name, std::pair<std::size_t, int>> held;  // by which rank, and its number there
    for (std::size_t r = 0; r < holders.to.size(); ++r)
      for (auto reported = holders.from(r); !reported.empty(); reported = reported.subspan(3))
        held.emplace(block_name{reported[0], reported[1]}, std::pair{r, reported[2]});
    for (std::size_t r = 0; r < origins.to.size(); ++r)
      for (auto reported = origins.from(r); !reported.empty(); reported = reported.subspan(3)) {
        const auto found = held.find({reported[0], reported[1]});
        const int home = of_.old[r];
        if (found != held.end()) {
          for (const int n : {found->second.second, home, reported[2]}) homes_.to[found->second.first].push_back(n);
        } else if (over && reported[0] == of_.me) {
          located_.push_back({state::stands, home, reported[2], 1, reported[1]});
        } else {
          nowhere_.to[r].push_back(reported[2]);
          nowhere_.to[r].push_back(reported[0]);
        }
      }
    homes_.exchange(now_);
    nowhere_.exchange(now_);
  }

  // The map of the arbiters' replies.
  void write(failure::block_map& map) {
    locate();
    map.outgoing.clear();
    std::vector<part> mine;
    for (const part& one : located_) {
      if (one.peer != of_.me) {
        append(map.outgoing, one);
        continue;
      }
      mine.push_back(one);
      mine.back().peer = static_cast<int>(given_.rank(one.offset));
      if (one.what == state::stands) mine.back().what = one.at == one.offset ? state::arrived : state::displaced;
    }
    for (std::size_t r = 0; r < nowhere_.to.size(); ++r)
      for (auto reported = nowhere_.from(r); !reported.empty(); reported = reported.subspan(2))
        mine.push_back({state::missing, reported[1], reported[0], 1, -1});
    std::ranges::sort(mine, {}, &part::offset);
    map.incoming.clear();
    for (const part& one : mine) append(map.incoming, one);
  }

 private:
  void keep(const part& one, int to) {
    here_.push_back(one);
    here_.back().peer = to;
  }

  // Every block that is here, with the rank and the place that had it; −1 if that rank has failed.
  void locate() {
    const auto as_it_is = [](const part& p) { return p.what == state::staged ? state::staged : state::stands; };
    std::vector<bool> homeless(here_.size(), true);
    for (std::size_t r = 0; r < homes_.to.size(); ++r)
      for (auto reported = homes_.from(r); !reported.empty(); reported = reported.subspan(3)) {
        const part& one = here_[as_size(reported[0])];
        homeless[as_size(reported[0])] = false;
        located_.push_back({as_it_is(one), reported[1], reported[2], 1, one.at});
      }
    for (std::size_t k = 0; k < here_.size(); ++k)
      if (homeless[k]) located_.push_back({as_it_is(here_[k]), -1, -1, 1, here_[k].at});
    std::ranges::sort(located_, {}, [](const part& p) { return std::pair(p.at, p.offset); });
  }

  const judges& of_;
  const given_map& given_;
  mpi::communicator& now_;
  std::vector<part> here_;     // blocks, with the rank that they are for
  number_table homes_;         // of a holder's blocks: number, rank and place
  number_table nowhere_;       // of an origin's: place, and the rank that it was for
  std::vector<part> located_;  // blocks, with where they were
};

}  // namespace

void report_origins(failure::block_map& map, bool over, const given_map& given, MPI_Comm before,
                    mpi::communicator& now) {
  const judges of(before, now);
  origins_of_blocks all(map, of, given, now);
  all.arbiter(over);
  all.write(map);
}

}  // namespace taquin::detail

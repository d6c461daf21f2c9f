#include "blocks.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/fingerprint.hpp"
#include "base/memory_budget.hpp"
#include "call/elements.hpp"
#include "layouts/dealer.hpp"
#include "redistribute/access.hpp"
#include "taquin/alltoall.hpp"
#include "taquin/error.hpp"
#include "taquin/redistribute.hpp"

namespace taquin::python {

namespace {

void check(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  int mpi_class = MPI_ERR_UNKNOWN;
  MPI_Error_class(code, &mpi_class);
  throw mpi_error(std::string(call) + " failed", mpi_class, code, call);
}

std::int64_t narrow(std::size_t v) {
  return static_cast<std::int64_t>(std::min<std::size_t>(v, std::numeric_limits<std::int64_t>::max()));
}

std::int64_t fingerprint_of(const distribution& a, const distribution& b, std::size_t element, bool transposing) {
  detail::fingerprint all;
  const auto add = [&](const std::vector<std::size_t>& list) {
    all.add(list.size());
    for (const std::size_t v : list) all.add(v);
  };
  for (const auto* d : {&a, &b}) {
    add(d->shape);
    add(d->grid);
    for (const auto& list : d->bounds) add(list);
  }
  all.add(element);
  all.add(transposing);
  return static_cast<std::int64_t>(all.value() >> 1U);
}

// Counts of pages and where they begin, one per rank.
struct page_counts {
  page_counts(std::size_t ranks, std::pmr::memory_resource* memory)
      : count(ranks, 0, memory), first(ranks, 0, memory) {}
  void set_first() { std::exclusive_scan(count.begin(), count.end(), first.begin(), count_t{0}); }
  std::pmr::vector<count_t> count;
  std::pmr::vector<count_t> first;
};

}  // namespace

block_exchange::block_exchange(distribution from, distribution to, std::size_t element, std::size_t held,
                               bool transposing, MPI_Comm comm, choices& c)
    : from_(std::move(from)),
      to_(std::move(to)),
      element_(element),
      comm_(comm),
      choices_(&c),
      transposing_(transposing) {
  int rank = 0;
  int ranks = 0;
  int inter = 0;
  check(MPI_Comm_test_inter(comm, &inter), "MPI_Comm_test_inter");
  if (inter != 0) throw usage_error("redistribution needs an intracommunicator", MPI_ERR_COMM);
  check(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
  check(MPI_Comm_size(comm, &ranks), "MPI_Comm_size");
  rank_ = static_cast<std::size_t>(rank);
  ranks_ = static_cast<std::size_t>(ranks);
  agree(held, transposing);
}

void block_exchange::agree(std::size_t held, bool transposing) {
  // Without data: an error in any rank's arguments or options becomes one of all ranks.
  try {
    const detail::known_elements known(choices_->elements);
    detail::redistribution_access::make(nullptr, 0, 1, MPI_BYTE, comm_, choices_->for_redistribution(),
                                        choices_->invalid_text_or_null());
  } catch (const budget_exceeded& e) {  // of its part of the whole, which is named below
    if (!e.collective()) throw;
  }
  const std::int64_t print = fingerprint_of(from_, to_, element_, transposing);
  // Maxima; a minimum is the maximum of the negative.
  std::array<std::int64_t, 4> all{-narrow(choices_->memory), narrow(held), print, -print};
  check(PMPI_Allreduce(MPI_IN_PLACE, all.data(), static_cast<int>(all.size()), MPI_INT64_T, MPI_MAX, comm_),
        "MPI_Allreduce");
  if (all[2] != -all[3]) throw usage_error("the ranks do not give the same distributions and item size", MPI_ERR_ARG);
  memory_ = -all[0] == std::numeric_limits<std::int64_t>::max() ? unlimited : static_cast<std::size_t>(-all[0]);
  held_ = static_cast<std::size_t>(all[1]);
  for (std::size_t r = 0; r < ranks_; ++r) most_ = std::max(most_, std::max(from_.volume(r), to_.volume(r)) * element_);
  const std::size_t limit = memory_;
  if (std::size_t least = choose(limit); least > limit) {
    for (std::size_t too_little = limit; least - too_little > 1;) {
      const std::size_t half = too_little + (least - too_little) / 2;
      (choose(half) <= half ? least : too_little) = half;
    }
    throw budget_exceeded("the redistribution needs at least " + std::to_string(least) + " bytes of scratch memory, " +
                              std::to_string(limit) + " are allowed",
                          least, 0, limit);
  }
}

// Returns the bytes that are needed within a limit: a fit for a limit is one for any larger limit.
std::size_t block_exchange::choose(std::size_t memory) {
  memory_ = memory;
  whole_ = false;
  // 94 bytes for each page, 81 and two per rank of a page's size: the least sum.
  const double best = std::sqrt(94.0 * static_cast<double>(most_) / static_cast<double>(81 + 2 * ranks_));
  page_ = static_cast<std::size_t>(std::clamp(best, 1024.0, 65536.0)) / 64 * 64;
  if (const std::size_t part = part_of_runs(); part > 0) {
    page_ = part;
    whole_ = true;
  } else {
    page_ = larger_page();
  }
  std::size_t needed = held_ + footprint(page_);
  if (transposing_) {
    transposition_ = detail::transposition::plan(most_, element_, memory_ - std::min(memory_, held_));
    needed = std::max(needed, held_ + transposition_.footprint(most_));
  }
  return needed;
}

// A page near the best one that all runs consist of, within the memory; 0: there is none.
std::size_t block_exchange::part_of_runs() const {
  const std::size_t run = common_run(from_, to_) * element_;
  const std::size_t room = memory_ - std::min(memory_, held_);
  if (run < page_ / 2) return 0;
  for (std::size_t part = std::min(2 * page_, run); part >= page_ / 2; --part)
    if (run % part == 0 && footprint(part) - dealers(part) + dealers(0) <= room) return part;
  return 0;
}

// Larger pages are faster: they are used if they need at most half a percent of the block more.
std::size_t block_exchange::larger_page() const noexcept {
  constexpr std::size_t times = 4;
  constexpr std::size_t parts = 200;
  const std::size_t room = memory_ - std::min(memory_, held_);
  for (std::size_t k = times; k > 1; --k)
    if (footprint(k * page_) <= std::min(room, footprint(page_) + most_ / parts)) return k * page_;
  return page_;
}

std::size_t block_exchange::dealers(std::size_t page) const noexcept {
  return 2 * detail::dealer::footprint(ranks_, page);
}

std::size_t block_exchange::footprint(std::size_t page) const noexcept {
  const std::size_t pages = most_ / page;
  // taquin::redistribution has buffers of 10 pages, and of fewer pages where these have more than 160 KiB.
  constexpr std::size_t message = std::size_t{160} * 1024;
  const std::size_t chunk = std::clamp<std::size_t>(message / page, 1, 10);
  const std::size_t staged = std::min<std::size_t>(81, 8 * chunk + 1 + 3 * std::min(4 * pages / page, pages / 8) / 2);
  return dealers(whole_ ? 0 : page) + 3 * sizeof(int) * pages + 10 * sizeof(count_t) * ranks_ + 8192 + 17408 +
         300 * ranks_ + 82 * pages + staged * page;
}

void block_exchange::run(std::byte* data) {
  detail::memory_budget budget(memory_);
  std::size_t peak = held_;
  std::string_view used;
  choices own;  // of the inner calls
  own.algorithm = choices_->algorithm;
  own.on_timeout = choices_->on_timeout;
  own.timeout = choices_->timeout;
  own.in_flight = choices_->in_flight;
  const run_list leaving(from_, to_, rank_, element_);
  const run_list coming(to_, from_, rank_, element_);
  const auto inner = [&] { return footprint(page_) - budget.used(); };
  {
    // The pages of this rank for each source's pages; they are sent to the sources.
    detail::dealer collected(ranks_, page_, &budget, whole_);
    page_counts in(ranks_, &budget);
    page_counts out(ranks_, &budget);
    coming.forward([&](std::size_t source, std::size_t bytes) { in.count[source] += static_cast<count_t>(bytes); });
    leaving.forward([&](std::size_t target, std::size_t bytes) { out.count[target] += static_cast<count_t>(bytes); });
    page_counts rest_in(ranks_, &budget);
    page_counts rest_out(ranks_, &budget);
    const auto split = [&](page_counts& whole, page_counts& rest) {
      for (std::size_t r = 0; r < ranks_; ++r) {
        rest.first[r] = static_cast<count_t>(r * page_);
        rest.count[r] = whole.count[r] % static_cast<count_t>(page_);
        whole.count[r] /= static_cast<count_t>(page_);
      }
      whole.set_first();
    };
    split(in, rest_in);
    split(out, rest_out);
    const auto pages_in = static_cast<std::size_t>(in.first.back() + in.count.back());
    const auto pages_out = static_cast<std::size_t>(out.first.back() + out.count.back());
    detail::dealer dealt(ranks_, page_, &budget, whole_);
    if (most_ >= page_) {
      std::pmr::vector<int> places(pages_in, 0, &budget);
      int next = 0;
      coming.forward([&](std::size_t source, std::size_t bytes) {
        collected.pretend(source, bytes,
                          [&](std::size_t s) { places[static_cast<std::size_t>(in.first[s]++)] = next++; });
      });
      in.set_first();
      std::pmr::vector<int> places_there(pages_out, 0, &budget);
      own.memory = inner();
      options o = own.for_exchange();
      o.algorithm = "auto";
      alltoallv(places.data(), in.count.data(), in.first.data(), MPI_INT, places_there.data(), out.count.data(),
                out.first.data(), MPI_INT, comm_, o);
      places.clear();
      places.shrink_to_fit();
      std::pmr::vector<int> rank_of(pages_out, 0, &budget);
      std::pmr::vector<int> place_of(pages_out, 0, &budget);
      std::size_t page = 0;
      leaving.forward([&](std::size_t target, std::size_t bytes) {
        const auto goes = [&](std::size_t t) {
          rank_of[page] = static_cast<int>(t);
          place_of[page++] = places_there[static_cast<std::size_t>(out.first[t]++)];
        };
        whole_ ? dealt.pretend(target, bytes, goes) : dealt.deal(data, target, bytes, goes);
      });
      own.memory = inner();
      redistribution pages(data, static_cast<count_t>(std::max(pages_in, pages_out)), static_cast<count_t>(page_),
                           MPI_BYTE, comm_, own.for_redistribution());
      pages(std::span<const int>(rank_of), std::span<const int>(place_of));
      used = pages.algorithm();
      peak = std::max(peak, held_ + budget.used() + pages.peak_memory());
    } else {
      coming.forward([&](std::size_t s, std::size_t bytes) { collected.pretend(s, bytes, [](std::size_t) {}); });
      leaving.forward([&](std::size_t t, std::size_t bytes) { dealt.deal(data, t, bytes, [](std::size_t) {}); });
    }
    if (!whole_) {
      own.memory = inner();
      options o = own.for_exchange();
      o.algorithm = "auto";
      alltoallv(dealt.rest(0), rest_out.count.data(), rest_out.first.data(), MPI_BYTE, collected.rest(0),
                rest_in.count.data(), rest_in.first.data(), MPI_BYTE, comm_, o);
      coming.backward([&](std::size_t source, std::size_t bytes) { collected.collect(data, source, bytes); });
    }
  }
  if (transposing_) {
    const std::size_t mine = to_.part(1, rank_);
    const std::size_t columns = to_.begin(1, mine + 1) - to_.begin(1, mine);
    detail::transpose(data, 1, to_.shape[0], columns, element_, transposition_, &budget);
  }
  statistics& s = choices_->stats;
  s.starts += 1;
  s.rounds += own.stats.rounds;
  s.messages += own.stats.messages;
  s.bytes_sent += own.stats.bytes_sent;
  s.bytes_copied += own.stats.bytes_copied;
  if (!whole_) s.bytes_copied += 2 * (from_.volume(rank_) + to_.volume(rank_)) * element_;
  s.peak_memory = std::max({s.peak_memory, peak, held_ + budget.peak()});
  s.algorithm = used.empty() ? own.stats.algorithm : used;
}

}  // namespace taquin::python

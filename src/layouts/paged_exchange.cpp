#include "layouts/paged_exchange.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "algorithms/algorithm.hpp"
#include "redistribute/footprint.hpp"
#include "taquin/alltoall.hpp"
#include "taquin/exchange.hpp"

namespace taquin::detail {

namespace {

constexpr std::size_t copies = 8;         // of a page, in the buffers of the redistribution
constexpr std::size_t of_each_page = 94;  // bytes: twelve, and those of the redistribution
constexpr std::size_t largest_page = std::size_t{64} << 10U;

std::size_t of_exchange(std::size_t ranks) {
  return spread_out.memory(shape_of_bytes(ranks, false), taquin::options{}) + plan_slack;
}

// The greatest common divisor of the indices at which a dimension is cut, and of `extent`.
count_t common_divisor(const dimension& d, count_t extent) {
  if (d.processes == 1) return extent;
  if (d.block > 0) return std::gcd(extent, d.block);
  count_t end = 0;
  for (int p = 0; p + 1 < d.processes; ++p) {
    end += d.owned(p);
    extent = std::gcd(extent, end);
  }
  return extent;
}

}  // namespace

std::size_t common_run(const layout& from, const layout& to, const layout_options& o) {
  std::size_t elements = 1;  // of the axes that neither cuts
  for (std::size_t k = from.dimensions().size(); k-- > 0;) {
    const auto d = as_size(layout_access::axis(from, k));
    const count_t extent = from.dimensions()[d].extent;
    const count_t divisor = common_divisor(to.dimensions()[o.axes.empty() ? d : as_size(o.axes[d])],
                                           common_divisor(from.dimensions()[d], extent));
    elements *= as_size(divisor);
    if (divisor != extent) break;
  }
  return elements;
}

std::size_t paged_sizes::of_redistribution() const noexcept {
  return least_redistribution_bound(true, ranks, most / page, page, 1) + (copies - 3) * page;
}

std::size_t paged_sizes::bytes() const noexcept {
  return 2 * dealer::footprint(ranks, whole ? 0 : page) + 4 * numbers_of_ranks::bytes(ranks) +
         3 * sizeof(int) * (most / page) + of_redistribution() + of_exchange(ranks);
}

paged_sizes paged_sizes::within(std::size_t room, std::size_t most, std::size_t ranks, std::size_t run) {
  constexpr std::size_t parts = 200;  // half a percent of the array more is worth larger pages
  const double best = std::sqrt(static_cast<double>(of_each_page) * static_cast<double>(most) /
                                static_cast<double>(copies + 2 * ranks));
  paged_sizes s{.most = most, .ranks = ranks};
  s.page = static_cast<std::size_t>(std::clamp(best, 1024.0, static_cast<double>(largest_page))) / 64 * 64;
  const std::size_t worth = std::min(room, s.bytes() + most / parts);
  paged_sizes whole = s;
  whole.whole = true;
  for (std::size_t n = (run + 2 * s.page - 1) / (2 * s.page); n > 0 && n <= 2 * run / s.page; ++n) {
    whole.page = run / n;
    if (run % n == 0 && whole.bytes() <= worth) return whole;
  }
  for (paged_sizes next = s; (next.page *= 2) <= largest_page / 2 && next.bytes() <= worth;) s = next;
  return s;
}

paged_exchange::paged_exchange(const array_move& move, const paged_sizes& sizes, std::pmr::memory_resource* memory)
    : move_(move),
      sizes_(sizes),
      memory_(memory),
      dealt_(sizes.ranks, sizes.page, memory, sizes.whole),
      collected_(sizes.ranks, sizes.page, memory, sizes.whole),
      rest_out_(sizes.ranks, memory),
      rest_in_(sizes.ranks, memory),
      rank_of_(memory),
      place_of_(memory) {}

// Pages that this rank has for each rank, and gets from each.
struct paged_exchange::sides {
  sides(std::size_t ranks, std::pmr::memory_resource* memory)
      : out(ranks, memory), in(ranks, memory), places(memory), places_there(memory) {}
  // Of bytes, which become what fills no page.
  static std::size_t divide(numbers_of_ranks& pages, numbers_of_ranks& rests, std::size_t page_bytes) {
    std::size_t all = 0;
    for (std::size_t r = 0; r < pages.counts.size(); ++r) {
      rests.first[r] = static_cast<count_t>(r * page_bytes);
      pages.counts[r] = rests.counts[r] / static_cast<count_t>(page_bytes);
      rests.counts[r] %= static_cast<count_t>(page_bytes);
      pages.first[r] = static_cast<count_t>(all);
      all += as_size(pages.counts[r]);
    }
    return all;
  }
  numbers_of_ranks out;
  numbers_of_ranks in;
  std::pmr::vector<int> places;  // of received pages, by source
  std::pmr::vector<int> places_there;
};

void paged_exchange::find_places(sides& s, MPI_Comm comm, call& running) {
  running.stage([&] {
    leaving([&](std::size_t rank, std::size_t n) { rest_out_.counts[rank] += static_cast<count_t>(n); });
    coming([&](std::size_t rank, std::size_t n) { rest_in_.counts[rank] += static_cast<count_t>(n); });
    if (!sizes_.whole)
      for (const numbers_of_ranks* n : {&rest_out_, &rest_in_})
        for (const count_t bytes : n->counts) copied_ += static_cast<std::uint64_t>(bytes);
    s.places_there.resize(sides::divide(s.out, rest_out_, sizes_.page));
    pages_in_ = sides::divide(s.in, rest_in_, sizes_.page);
    s.places.resize(pages_in_);
    int next = 0;
    coming([&](std::size_t source, std::size_t n) {
      collected_.pretend(source, n, [&](std::size_t r) { s.places[as_size(s.in.first[r]++)] = next++; });
    });
    for (std::size_t r = 0; r < sizes_.ranks; ++r) s.in.first[r] -= s.in.counts[r];
  });
  const auto view = [](const std::pmr::vector<count_t>& list) { return count_view(list.data()); };
  statistics found;
  taquin::run(exchange::alltoallv(s.places.data(), view(s.in.counts), view(s.in.first), MPI_INT, s.places_there.data(),
                                  view(s.out.counts), view(s.out.first), MPI_INT, comm),
              move_.inner("spread_out", of_exchange(sizes_.ranks), found));
}

void paged_exchange::join(std::byte* data, call& running, MPI_Comm comm) {
  {
    std::optional<sides> s;
    running.stage([&] { s.emplace(sizes_.ranks, memory_); });
    find_places(*s, comm, running);
    running.stage([&] {
      std::pmr::vector<int>(memory_).swap(s->places);
      rank_of_.resize(s->places_there.size());
      place_of_.resize(s->places_there.size());
      std::size_t next = 0;
      leaving([&](std::size_t target, std::size_t n) {
        dealt_.pretend(target, n, [&](std::size_t r) {
          rank_of_[next] = static_cast<int>(r);
          place_of_[next++] = s->places_there[as_size(s->out.first[r]++)];
        });
      });
    });
  }
  redistribute_options o;
  o.memory = sizes_.of_redistribution();
  o.check = false;
  o.progress = move_.options.progress;
  o.timeout = move_.options.timeout;
  o.on_timeout = move_.options.on_timeout;
  o.in_flight = move_.options.in_flight;
  o.stats = &moved_;
  pages_.emplace(data, static_cast<count_t>(std::max(pages_in_, rank_of_.size())), static_cast<count_t>(sizes_.page),
                 MPI_BYTE, comm, o);
  if (sizes_.whole) return;
  const auto view = [](const std::pmr::vector<count_t>& list) { return count_view(list.data()); };
  rests_.emplace(exchange::alltoallv(dealt_.rest(0), view(rest_out_.counts), view(rest_out_.first), MPI_BYTE,
                                     collected_.rest(0), view(rest_in_.counts), view(rest_in_.first), MPI_BYTE, comm),
                 move_.inner("spread_out", of_exchange(sizes_.ranks), moved_));
}

void paged_exchange::start(std::byte* data) {
  moved_ = {};
  if (!sizes_.whole) {
    dealt_.restart();
    leaving([&](std::size_t target, std::size_t n) { dealt_.deal(data, target, n, [](std::size_t) {}); });
  }
  pages_->start(std::span<const int>(rank_of_), std::span<const int>(place_of_));
  if (rests_) rests_->start();
}

bool paged_exchange::test() {
  const bool done = pages_->test();
  return (!rests_ || rests_->test()) && done;
}

void paged_exchange::wait() {
  pages_->wait();
  if (rests_) rests_->wait();
}

void paged_exchange::finish(std::byte* data) {
  moved_.bytes_copied += copied_;
  if (sizes_.whole) return;
  collected_.restart();
  coming([&](std::size_t source, std::size_t n) { collected_.pretend(source, n, [](std::size_t) {}); });
  move_.coming.backward([&](std::size_t position, std::size_t n) {
    collected_.collect(data, as_size(layout_access::rank_at(move_.from, position)), n);
  });
}

std::size_t paged_exchange::inner_peak() const noexcept {
  return (pages_ ? pages_->peak_memory() : 0) + (rests_ ? rests_->peak_memory() : 0);
}

}  // namespace taquin::detail

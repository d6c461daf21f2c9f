// A hand-written sparse exchange: an alltoall of counts, then an alltoallv. Blocks are in ascending order of
// destinations, one to each.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include "base/sizes.hpp"
#include "harness/sparse_methods.hpp"

namespace taquin::harness {

/// `Collectives` has the two collectives for counts of its type `count`: alltoall(out, in) of a count for each rank,
/// and alltoallv(from, counts, places, to, counts, places) of bytes.
template <class Collectives>
class counts_exchanged_by final : public hand_written_sparse {
 public:
  counts_exchanged_by(Collectives by, int ranks) : by_(by) {
    for (auto* v : {&sends_, &places_, &receives_, &receive_places_}) v->resize(detail::as_size(ranks));
  }
  void run(const sparse_sent& sent, sparse_arrived& arrived) override {
    arrived.clear();
    std::ranges::fill(sends_, 0);
    count at = 0;
    for (std::size_t i = 0; i < sent.destinations.size(); ++i) {
      const auto to = detail::as_size(sent.destinations[i]);
      sends_[to] = static_cast<count>(sent.counts[i]);
      places_[to] = at;
      at += sends_[to];
    }
    by_.alltoall(sends_.data(), receives_.data());
    std::exclusive_scan(receives_.begin(), receives_.end(), receive_places_.begin(), count{0});
    arrived.data.resize(detail::as_size(receive_places_.back()) + detail::as_size(receives_.back()));
    by_.alltoallv(sent.data.data(), sends_.data(), places_.data(), arrived.data.data(), receives_.data(),
                  receive_places_.data());
    for (std::size_t from = 0; from < receives_.size(); ++from) {
      if (receives_[from] == 0) continue;
      arrived.sources.push_back(static_cast<int>(from));
      arrived.counts.push_back(receives_[from]);
    }
  }

 private:
  using count = typename Collectives::count;
  Collectives by_;
  std::vector<count> sends_, places_, receives_, receive_places_;
};

}  // namespace taquin::harness

// Sparse exchanges, called by one rank as they should not be.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <vector>

#include "faults/hostile_calls.hpp"
#include "taquin/taquin.h"
#include "taquin/taquin.hpp"

namespace taquin::soak {

namespace {

constexpr int sparse_margin = 16;
constexpr int sparse_filler = -2345671;

class hostile_sparse final : public hostile_call {
 public:
  hostile_sparse(const hostile_recipe& r, MPI_Comm comm, int rank, const options& o)
      : r_(r), comm_(comm), rank_(rank), o_(o) {
    for (std::size_t b = 0; b < blocks(rank); ++b) {
      to_.push_back(destination(rank, b));
      counts_.push_back(count(rank, b));
      for (count_t k = 0; k < counts_.back(); ++k) data_.push_back(value(rank, b, k));
    }
    for (int from = 0; from < r_.p; ++from)
      for (std::size_t b = 0; b < blocks(from); ++b) {
        if (destination(from, b) != rank) continue;
        expected_from_.push_back(from);
        expected_counts_.push_back(count(from, b));
        for (count_t k = 0; k < count(from, b); ++k) expected_.push_back(value(from, b, k));
      }
    got_.assign(expected_.size() + 2 * sparse_margin, sparse_filler);
    if (errs(r, rank, offence::argument) || errs(r, rank, offence::sizes)) make_invalid();
    for (const count_t n : counts_) c_counts_.push_back(static_cast<MPI_Count>(n));
    if (r_.in_c()) set_c_options(comm, o_);
  }
  ~hostile_sparse() override {
    drop();
    for (void* p : given_) std::free(p);
  }

  [[nodiscard]] int steps() const override { return r_.in_steps() ? 2 : 1; }

  void step(int number) override {
    switch (r_.by) {
      case surface::blocking: {  // the data come in chunks
        std::size_t at = sparse_margin;
        call_.emplace(mine(), comm_, o_);
        return call_->deliver(1 + r_.most / 3, [&](const sparse_call::chunk& p) {
          if (errs(r_, rank_, offence::thrown)) throw own_error("no disk");
          std::copy_n(static_cast<const int*>(p.data), p.count, &got_[at]);
          at += static_cast<std::size_t>(p.count);
        });
      }
      case surface::steps:
        if (number == 0) return static_cast<void>(call_.emplace(mine(), comm_, o_));
        return call_->receive(lies() ? nullptr : &got_[sparse_margin]);
      case surface::c_blocking: {
        int incoming = 0;
        int* sources = nullptr;
        MPI_Count* counts = nullptr;
        int* data = nullptr;
        given_.fill(nullptr);
        requested_ = 0;
        check_c(TAQUIN_Sparse_exchange(data_.data(), static_cast<int>(to_.size()), to_.data(), c_counts_.data(), type_,
                                       comm_, allocate, this, &incoming, &sources, &counts, &data));
        std::copy_n(data, std::min(got_.size() - 2 * sparse_margin, expected_.size()), &got_[sparse_margin]);
        return;
      }
      default:
        int incoming = 0;
        MPI_Count elements = 0;
        if (number == 0)
          return check_c(TAQUIN_Sparse_begin(data_.data(), static_cast<int>(to_.size()), to_.data(), c_counts_.data(),
                                             type_, comm_, &c_call_, &incoming, &elements));
        return check_c(TAQUIN_Sparse_data(c_call_, lies() ? nullptr : &got_[sparse_margin]));
    }
  }

  void drop() override {
    call_.reset();
    if (c_call_ != TAQUIN_SPARSE_NULL) TAQUIN_Sparse_end(&c_call_);
  }

  [[nodiscard]] std::string wrong() const override {
    if (call_ && (!std::ranges::equal(call_->sources(), expected_from_) ||
                  !std::ranges::equal(call_->counts(), expected_counts_)))
      return "sources or sizes are wrong";
    const bool same = std::equal(expected_.begin(), expected_.end(), got_.begin() + sparse_margin);
    return same ? std::string() : std::string("the data are wrong");
  }
  [[nodiscard]] std::string outside() const override {
    const auto is_filler = [](int v) { return v == sparse_filler; };
    if (std::all_of(got_.begin(), got_.begin() + sparse_margin, is_filler) &&
        std::all_of(got_.end() - sparse_margin, got_.end(), is_filler))
      return {};
    return "written outside what comes";
  }
  [[nodiscard]] bool untouched() const override {
    return std::all_of(got_.begin(), got_.end(), [](int v) { return v == sparse_filler; });
  }

 private:
  [[nodiscard]] std::size_t blocks(int rank) const {
    const std::size_t n = hash(r_.seed, static_cast<std::uint64_t>(rank), 9) % 6;
    return rank == r_.offender ? std::max<std::size_t>(n, 1) : n;
  }
  [[nodiscard]] int destination(int rank, std::size_t block) const {
    const std::uint64_t h = hash(r_.seed, static_cast<std::uint64_t>(rank) * 100 + block, 10);
    return r_.load == 1 ? r_.victim : static_cast<int>(h % static_cast<std::uint64_t>(r_.p));
  }
  [[nodiscard]] count_t count(int rank, std::size_t block) const {
    source s(hash(r_.seed, static_cast<std::uint64_t>(rank) * 100 + block, 11));
    return s.any_size(r_.most);
  }
  [[nodiscard]] static int value(int rank, std::size_t block, count_t k) {
    return static_cast<int>(hash(static_cast<std::uint64_t>(rank) * 100 + block, static_cast<std::uint64_t>(k), 12) >>
                            33U);
  }
  // A rank without a place for incoming blocks.
  [[nodiscard]] bool lies() const { return errs(r_, rank_, offence::thrown); }

  [[nodiscard]] sparse_blocks mine() const { return {data_.data(), to_, count_view(counts_.data()), type_}; }

  static void* allocate(std::size_t bytes, void* context) {
    auto& self = *static_cast<hostile_sparse*>(context);
    const int number = self.requested_++;
    if (self.lies() && number == self.r_.variant % 3) return nullptr;
    return self.given_.at(static_cast<std::size_t>(number)) = std::malloc(bytes > 0 ? bytes : 1);
  }

  void make_invalid() {
    switch (r_.variant % 5) {
      case 0:
        to_[0] = r_.p;
        break;
      case 1:
        to_[0] = -1;
        break;
      case 2:
        counts_[0] = -1;
        break;
      case 3:
        type_ = MPI_DATATYPE_NULL;
        break;
      default:
        counts_[0] = count_t{1} << 60;
        break;
    }
  }

  const hostile_recipe& r_;
  MPI_Comm comm_;
  int rank_;
  options o_;
  MPI_Datatype type_ = MPI_INT;
  std::vector<int> to_;
  std::vector<count_t> counts_;
  std::vector<MPI_Count> c_counts_;
  std::vector<int> data_;
  std::vector<int> expected_from_, expected_, got_;
  std::vector<count_t> expected_counts_;
  std::optional<sparse_call> call_;
  TAQUIN_Sparse c_call_ = TAQUIN_SPARSE_NULL;
  std::array<void*, 3> given_{};
  int requested_ = 0;
};

}  // namespace

std::unique_ptr<hostile_call> make_hostile_sparse(const hostile_recipe& r, MPI_Comm comm, int rank, const options& o) {
  return std::make_unique<hostile_sparse>(r, comm, rank, o);
}

}  // namespace taquin::soak

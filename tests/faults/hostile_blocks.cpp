// Redistributions and migrations, called by one rank as they should not be.
#include <fmt/format.h>

#include <algorithm>
#include <memory_resource>
#include <numeric>
#include <optional>
#include <vector>

#include "faults/hostile_calls.hpp"
#include "taquin/taquin.h"
#include "taquin/taquin.hpp"

namespace taquin::soak {

namespace {

constexpr int block_margin = 16;
constexpr int block_filler = -7654321;

redistribute_options options_for_blocks(const options& o) {
  return {.algorithm = o.algorithm, .memory = o.memory, .on_timeout = o.on_timeout, .timeout = o.timeout};
}

class hostile_redistribution final : public hostile_call {
 public:
  hostile_redistribution(const hostile_recipe& r, MPI_Comm comm, int rank, const options& o)
      : r_(r), comm_(comm), rank_(rank), algorithm_(o.algorithm), o_(options_for_blocks(o)) {
    make_map();
    const auto length = static_cast<std::size_t>(length_);
    array_.assign(static_cast<std::size_t>(blocks(rank)) * length + 2 * block_margin, block_filler);
    for (std::size_t b = 0; b < static_cast<std::size_t>(blocks(rank)); ++b)
      for (std::size_t k = 0; k < length; ++k) array_[block_margin + b * length + k] = value(begin(rank) + b, k);
    if (errs(r, rank, offence::sizes) && r_.p > 1) spoil_map();
    if (errs(r, rank, offence::argument)) make_invalid();
    before_ = array_;
    if (r_.in_c()) set_c_options(comm, o);
  }
  ~hostile_redistribution() override { drop(); }

  [[nodiscard]] int steps() const override { return 3; }

  void step(int number) override {
    const bool tests = (r_.variant & 32) != 0;
    if (number > 0 && at_once()) {
      if (number == 2) move_at_once();
      return;
    }
    if (!r_.in_c()) {
      if (number == 0) made_.emplace(&array_[block_margin], count_, length_, type_, comm_, o_);
      if (number == 1) made_->start(std::span<const int>(to_rank_), std::span<const int>(to_index_));
      if (number == 2 && !tests) made_->wait();
      while (number == 2 && tests && !made_->test()) {
      }
      return;
    }
    int over = 0;
    if (number == 0)
      check_c(TAQUIN_Redistribution_create(&array_[block_margin], count_, length_, type_, comm_, algorithm_.c_str(),
                                           o_.memory, &c_made_));
    if (number == 1)
      check_c(
          TAQUIN_Redistribution_start(c_made_, static_cast<int>(to_rank_.size()), to_rank_.data(), to_index_.data()));
    if (number == 2 && !tests) check_c(TAQUIN_Redistribution_wait(c_made_));
    while (number == 2 && tests && over == 0) check_c(TAQUIN_Redistribution_test(c_made_, &over));
  }

  void drop() override {
    made_.reset();
    if (c_made_ != TAQUIN_REDISTRIBUTION_NULL) TAQUIN_Redistribution_free(&c_made_);
  }

  [[nodiscard]] std::string wrong() const override {
    for (std::size_t g = 0; g < place_.size(); ++g) {
      if (place_[g] < begin(rank_) || place_[g] >= begin(rank_ + 1)) continue;
      const std::size_t at = block_margin + (place_[g] - begin(rank_)) * static_cast<std::size_t>(length_);
      for (std::size_t k = 0; k < static_cast<std::size_t>(length_); ++k)
        if (array_[at + k] != value(g, k)) return fmt::format("block {} is wrong at element {}", g, k);
    }
    return {};
  }
  [[nodiscard]] std::string outside() const override {
    const auto is_filler = [](int v) { return v == block_filler; };
    if (std::all_of(array_.begin(), array_.begin() + block_margin, is_filler) &&
        std::all_of(array_.end() - block_margin, array_.end(), is_filler))
      return {};
    return "written outside the array of blocks";
  }
  [[nodiscard]] bool untouched() const override { return array_ == before_; }

 private:
  static constexpr std::size_t dead = ~std::size_t{0};

  // Start and wait in one call, in the last step. A rank that drops a pending operation has started it before.
  [[nodiscard]] bool at_once() const { return r_.variant % 3 == 0 && r_.harm != offence::dropped; }
  void move_at_once() {
    if (r_.in_c())
      check_c(TAQUIN_Redistribution_redistribute(c_made_, static_cast<int>(to_rank_.size()), to_rank_.data(),
                                                 to_index_.data()));
    else
      (*made_)(std::span<const int>(to_rank_), std::span<const int>(to_index_));
  }

  [[nodiscard]] std::size_t blocks(int rank) const {
    const std::size_t most = 1 + static_cast<std::size_t>(r_.most) % 97;
    const std::size_t n = r_.load == 1 ? most : hash(r_.seed, static_cast<std::uint64_t>(rank), 3) % (most + 1);
    return rank == r_.offender ? std::max<std::size_t>(n, 2) : n;
  }
  [[nodiscard]] std::size_t begin(int rank) const {
    std::size_t n = 0;
    for (int i = 0; i < rank; ++i) n += blocks(i);
    return n;
  }
  [[nodiscard]] static int value(std::size_t block, std::size_t k) {
    return static_cast<int>(hash(block, k, 1) >> 33U);
  }

  // A place for every block, or none.
  void make_map() {
    length_ = 1 + r_.most % 53 * (r_.most > 9000 ? 40 : 1);
    place_.resize(begin(r_.p));
    std::iota(place_.begin(), place_.end(), std::size_t{0});
    source s(hash(r_.seed, 4));
    for (std::size_t i = place_.size(); i > 1; --i) std::swap(place_[i - 1], place_[s.below(i)]);
    for (std::size_t& g : place_)
      if (s.one_in(9)) g = dead;
    count_ = static_cast<count_t>(blocks(rank_));
    for (std::size_t g = begin(rank_); g < begin(rank_ + 1); ++g) {
      int rank = -1;
      int index = 0;
      for (int i = 0; i < r_.p && place_[g] != dead; ++i)
        if (place_[g] >= begin(i) && place_[g] < begin(i + 1)) rank = i, index = static_cast<int>(place_[g] - begin(i));
      to_rank_.push_back(rank);
      to_index_.push_back(index);
    }
  }

  void spoil_map() {
    switch (r_.variant % 5) {
      case 0:
        to_rank_[0] = r_.p;
        break;
      case 1:
        to_rank_[0] = -2;
        break;
      case 2:
        to_rank_[0] = r_.victim, to_index_[0] = static_cast<int>(blocks(r_.victim));
        break;
      case 3:
        to_rank_[0] = to_rank_[1] = rank_, to_index_[0] = to_index_[1] = 0;
        break;
      default:
        to_rank_.push_back(-1), to_index_.push_back(0);
        break;
    }
  }

  void make_invalid() {
    switch (r_.variant % 4) {
      case 0:
        count_ = -1;
        break;
      case 1:
        length_ = -length_;
        break;
      case 2:
        type_ = MPI_DATATYPE_NULL;
        break;
      default:
        count_ = count_t{1} << 31;
        break;
    }
  }

  const hostile_recipe& r_;
  MPI_Comm comm_;
  int rank_;
  std::string algorithm_;
  redistribute_options o_;
  MPI_Datatype type_ = MPI_INT;
  count_t length_ = 1, count_ = 0;
  std::vector<std::size_t> place_;  // of every block of all ranks, both numbered through
  std::vector<int> to_rank_, to_index_;
  std::vector<int> array_, before_;
  std::optional<redistribution> made_;
  TAQUIN_Redistribution c_made_ = TAQUIN_REDISTRIBUTION_NULL;
};

// Memory of a container of the program's, which throws on request.
class throwing_memory final : public std::pmr::memory_resource {
 public:
  bool throws = false;
  int what = 0;

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    if (throws && what == 0) throw std::bad_alloc();
    if (throws && what == 1) throw own_error("no room");
    if (throws) throw 42;  // NOLINT(hicpp-exception-baseclass): of other code
    return std::pmr::new_delete_resource()->allocate(bytes, alignment);
  }
  void do_deallocate(void* memory, std::size_t bytes, std::size_t alignment) override {
    std::pmr::new_delete_resource()->deallocate(memory, bytes, alignment);
  }
  [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};

class hostile_migration final : public hostile_call {
 public:
  hostile_migration(const hostile_recipe& r, MPI_Comm comm, int rank, const options& o)
      : r_(r), comm_(comm), rank_(rank), o_(options_for_blocks(o)), elements_(&memory_) {
    o_.algorithm = "auto";
    const std::size_t n = size_of(rank);
    elements_.reserve(n);
    for (std::size_t k = 0; k < n; ++k) elements_.push_back(value(rank, k));
    for (int from = 0; from < r_.p; ++from)
      for (std::size_t k = 0; k < size_of(from); ++k)
        if (destination(from, k) == rank_) expected_.push_back(value(from, k));
    room_ = std::max(n, expected_.size()) + static_cast<std::size_t>(r_.variant % 3);
    storage_.assign(room_ + 2 * block_margin, block_filler);
    std::copy(elements_.begin(), elements_.end(), storage_.begin() + block_margin);
    before_ = storage_;
    elements_before_.assign(elements_.begin(), elements_.end());
    if (errs(r, rank, offence::sizes) && n > 0 && in_storage()) room_ = n;  // fewer than come, perhaps
    memory_.throws = errs(r, rank, offence::thrown) && !function_throws();
    memory_.what = r_.variant / 2 % 3;
  }

  [[nodiscard]] int steps() const override { return 1; }

  void step(int) override {
    std::size_t k = 0;
    const auto to = [&](int) -> long long {
      const std::size_t mine = k++;
      if (errs(r_, rank_, offence::thrown) && function_throws() && mine == size_of(rank_) / 2) {
        if (r_.variant / 2 % 3 == 0) throw std::bad_alloc();
        if (r_.variant / 2 % 3 == 1) throw own_error("no destination");
        throw 42;  // NOLINT(hicpp-exception-baseclass): of other code
      }
      if (errs(r_, rank_, offence::argument) && mine == 0) {
        constexpr std::array<long long, 4> invalid{-1, 1LL << 32, std::numeric_limits<int>::max(), -(1LL << 32)};
        return invalid.at(static_cast<std::size_t>(r_.variant) % invalid.size());
      }
      return destination(rank_, mine);
    };
    if (in_storage())
      arrived_ = migrate(std::span(storage_).subspan(block_margin, room_), size_of(rank_), to, comm_, o_);
    else
      migrate(elements_, to, comm_, o_);
  }
  void drop() override {}

  [[nodiscard]] std::string wrong() const override {
    const auto result =
        in_storage() ? std::span<const int>(storage_).subspan(block_margin, arrived_) : std::span<const int>(elements_);
    return std::ranges::equal(result, expected_) ? std::string() : std::string("the elements are wrong");
  }
  [[nodiscard]] std::string outside() const override {
    const auto is_filler = [](int v) { return v == block_filler; };
    const auto end = storage_.begin() + block_margin + static_cast<std::ptrdiff_t>(room_);
    if (std::all_of(storage_.begin(), storage_.begin() + block_margin, is_filler) &&
        std::equal(end, storage_.end(), before_.begin() + (end - storage_.begin())))
      return {};
    return "written outside the storage";
  }
  [[nodiscard]] bool untouched() const override {
    return storage_ == before_ && std::ranges::equal(elements_, elements_before_);
  }

 private:
  [[nodiscard]] bool in_storage() const { return r_.by == surface::steps || r_.by == surface::c_steps; }
  [[nodiscard]] bool function_throws() const { return in_storage() || r_.p == 1 || r_.variant % 2 == 0; }
  [[nodiscard]] std::size_t size_of(int rank) const {
    const auto most = static_cast<std::uint64_t>(r_.most);
    const std::size_t n = r_.load == 1 ? most : hash(r_.seed, static_cast<std::uint64_t>(rank), 8) % (most + 1);
    // Something arrives where a container is to throw when it grows.
    return rank == r_.offender || r_.harm == offence::thrown ? std::max<std::size_t>(n, 1) : n;
  }
  [[nodiscard]] int destination(int from, std::size_t k) const {
    // A container that is to throw has to grow.
    if (r_.harm == offence::thrown || r_.harm == offence::sizes) return r_.offender;
    return static_cast<int>(hash(r_.seed, static_cast<std::uint64_t>(from), k) % static_cast<std::uint64_t>(r_.p));
  }
  [[nodiscard]] static int value(int rank, std::size_t k) {
    return static_cast<int>(hash(static_cast<std::uint64_t>(rank), k, 2) >> 33U);
  }

  const hostile_recipe& r_;
  MPI_Comm comm_;
  int rank_;
  redistribute_options o_;
  throwing_memory memory_;
  std::pmr::vector<int> elements_;
  std::vector<int> elements_before_, storage_, before_, expected_;
  std::size_t room_ = 0, arrived_ = 0;
};

}  // namespace

std::unique_ptr<hostile_call> make_hostile_blocks(const hostile_recipe& r, MPI_Comm comm, int rank, const options& o) {
  if (r.what == called::migration) return std::make_unique<hostile_migration>(r, comm, rank, o);
  return std::make_unique<hostile_redistribution>(r, comm, rank, o);
}

}  // namespace taquin::soak

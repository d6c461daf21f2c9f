// alltoall, alltoallv, alltoallw and exchanges in place, called by one rank as it should not be.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include "faults/hostile_calls.hpp"
#include "taquin/taquin.h"
#include "taquin/taquin.hpp"

namespace taquin::soak {

c_error::c_error(int error_code) : std::runtime_error(TAQUIN_Last_error()), code(error_code) {}

void check_c(int code) {
  if (code != MPI_SUCCESS) throw c_error(code);
}

void set_c_options(MPI_Comm comm, const options& o) {
  TAQUIN_Options c = TAQUIN_OPTIONS_INIT;
  const std::string algorithm(o.algorithm);
  c.algorithm = algorithm.c_str();
  c.memory = o.memory;
  c.on_timeout = o.on_timeout == after_timeout::fail ? TAQUIN_TIMEOUT_FAIL : TAQUIN_TIMEOUT_WAIT;
  c.timeout = static_cast<double>(o.timeout);
  check_c(TAQUIN_Comm_set_options(comm, &c));
}

namespace {

constexpr int exchange_margin = 16;  // ints around blocks that no rank may write
constexpr int exchange_filler = -1234567;

int value_of(int from, int to, count_t k) noexcept {
  return static_cast<int>(
      hash(static_cast<std::uint64_t>(from) * 64 + static_cast<std::uint64_t>(to), static_cast<std::uint64_t>(k)) >>
      33U);
}

class hostile_exchange final : public hostile_call {
 public:
  hostile_exchange(const hostile_recipe& r, MPI_Comm comm, int rank, const options& o)
      : r_(r), comm_(comm), rank_(rank), o_(o), types_(static_cast<std::size_t>(r.p), MPI_INT) {
    lay_out();
    fill();
    if (r_.in_c()) set_c_options(comm, o);
    if (errs(r, rank, offence::argument)) make_invalid();
    for (std::size_t i = 0; i < out_.count.size(); ++i) {
      out_.bytes.push_back(static_cast<int>(4 * out_.at[i]));
      in_.bytes.push_back(static_cast<int>(4 * in_.at[i]));
    }
  }
  ~hostile_exchange() override { drop(); }

  [[nodiscard]] int steps() const override { return r_.in_steps() ? 3 : 1; }

  void step(int number) override {
    if (r_.by == surface::blocking) return run(given(), o_);
    if (r_.by == surface::c_blocking) return check_c(call_c());
    const bool tests = (r_.variant & 32) != 0;
    if (r_.by == surface::steps) {
      if (number == 0) made_.emplace(given(), o_);
      if (number == 1) made_->start();
      if (number == 2 && !tests) made_->wait();
      while (number == 2 && tests && !made_->test()) {
      }
      return;
    }
    int over = 0;
    if (number == 0) check_c(make_c());
    if (number == 1) check_c(TAQUIN_Start(c_plan_));
    if (number == 2 && !tests) check_c(TAQUIN_Wait(c_plan_));
    while (number == 2 && tests && over == 0) check_c(TAQUIN_Test(c_plan_, &over));
  }

  void drop() override {
    made_.reset();
    if (c_plan_ != TAQUIN_PLAN_NULL) TAQUIN_Plan_free(&c_plan_);
  }

  [[nodiscard]] std::string wrong() const override {
    for (int from = 0; from < r_.p; ++from) {
      const count_t n = received_from(from);
      if (n != sent_from(from))
        return fmt::format("rank {} sends {} elements, {} are expected, and there is no error", from, sent_from(from),
                           n);
      const int* const block = &buffer_[static_cast<std::size_t>(in_.at[static_cast<std::size_t>(from)])];
      for (count_t k = 0; k < n; ++k)
        if (block[k] != value_of(from, rank_, k)) return fmt::format("element {} from rank {} is wrong", k, from);
    }
    return {};
  }

  [[nodiscard]] std::string outside() const override {
    if (sent_ != sent_before_) return "the send buffer is not as it was";
    std::size_t k = 0;
    for (int from = 0; from <= r_.p; ++from) {
      const auto place = static_cast<std::size_t>(from);
      const std::size_t next = from < r_.p ? static_cast<std::size_t>(in_.at[place]) : buffer_.size();
      if (from < r_.p && received_from(from) == 0) continue;
      for (; k < next; ++k)
        if (buffer_[k] != before_[k]) return fmt::format("int {} is in no receive block, and was written", k);
      if (from < r_.p) k += static_cast<std::size_t>(received_from(from));
    }
    return {};
  }

  [[nodiscard]] bool untouched() const override { return buffer_ == before_; }

 private:
  struct side {
    std::vector<count_t> count, at;
    std::vector<int> bytes;  // `at` in bytes
    std::vector<int> narrow_count, narrow_at;
    void end() {
      narrow_count.assign(count.begin(), count.end());
      narrow_at.assign(at.begin(), at.end());
    }
  };

  [[nodiscard]] count_t own(int rank) const {  // alltoall has one size
    if (!errs(r_, rank, offence::sizes)) return r_.most;
    return r_.variant % 2 == 0 ? r_.most / 2 : r_.most + 1 + r_.variant;
  }
  [[nodiscard]] count_t sent_from(int from) const {
    return r_.what == called::alltoall ? own(from) : sent_count(r_, from, rank_);
  }
  [[nodiscard]] count_t received_from(int from) const {
    return r_.what == called::alltoall ? own(rank_) : expected_count(r_, from, rank_);
  }
  [[nodiscard]] bool in_place() const { return r_.what == called::in_place; }

  void lay_out() {
    const count_t gap = r_.what == called::alltoall || in_place() ? 0 : exchange_margin;
    count_t out_at = in_place() ? exchange_margin : 0;
    count_t in_at = exchange_margin;
    for (int peer = 0; peer < r_.p; ++peer) {
      out_.count.push_back(r_.what == called::alltoall ? own(rank_) : sent_count(r_, rank_, peer));
      in_.count.push_back(received_from(peer));
      out_.at.push_back(out_at);
      in_.at.push_back(in_at);
      out_at += out_.count.back() + (in_place() ? 0 : gap);
      in_at += in_.count.back() + gap;
    }
    if (in_place() && r_.symmetric) out_ = in_;
    out_.end();
    in_.end();
    sent_.resize(static_cast<std::size_t>(out_at + exchange_margin));
    buffer_.resize(static_cast<std::size_t>(std::max(out_at, in_at) + exchange_margin), exchange_filler);
  }

  void fill() {
    std::vector<int>& from = in_place() ? buffer_ : sent_;
    for (int to = 0; to < r_.p; ++to) {
      const auto place = static_cast<std::size_t>(to);
      for (count_t k = 0; k < out_.count[place]; ++k)
        from[static_cast<std::size_t>(out_.at[place] + k)] = value_of(rank_, to, k);
    }
    before_ = buffer_;
    sent_before_ = sent_;
  }

  // Something that the first look at the arguments finds.
  void make_invalid() {
    const std::size_t peer = r_.what == called::alltoall ? 0 : static_cast<std::size_t>(r_.victim);
    const bool empty = out_.count[peer] == 0 || in_.count[peer] == 0;  // where no type is looked at
    const int kind = r_.variant % 5;
    const bool reported_at_once = kind == 3 && r_.in_c();  // by what sets the options
    switch ((kind == 1 && empty) || reported_at_once ? 0 : kind) {
      case 0:
        in_.count[peer] = out_.count[peer] = -3;
        break;
      case 1:
        type_ = MPI_DATATYPE_NULL, types_[peer] = MPI_DATATYPE_NULL;
        break;
      case 2:
        o_.algorithm = "no_such_algorithm";
        break;
      case 3:
        o_.timeout = -1;
        break;
      default:
        in_.count[peer] = out_.count[peer] = count_t{1} << (r_.in_c() ? 31 : 61);
        break;
    }
    if (r_.variant % 5 == 4 && r_.in_c()) in_.count[peer] = out_.count[peer] = -1;  // what such a count becomes there
    out_.end();
    in_.end();
    if (r_.in_c()) set_c_options(comm_, o_);
  }

  [[nodiscard]] exchange given() {
    const auto counts = [](const side& s) { return count_view(s.count.data()); };
    const auto at = [](const side& s) { return count_view(s.at.data()); };
    switch (r_.what) {
      case called::alltoall:
        return exchange::alltoall(sent_.data(), out_.count[0], type_, &buffer_[exchange_margin], in_.count[0], type_,
                                  comm_);
      case called::alltoallw:
        return exchange::alltoallw(sent_.data(), counts(out_), count_view(out_.bytes.data()), types_.data(),
                                   buffer_.data(), counts(in_), count_view(in_.bytes.data()), types_.data(), comm_);
      case called::in_place:
        if (r_.symmetric)
          return exchange::alltoallv(MPI_IN_PLACE, count_view(), count_view(), MPI_DATATYPE_NULL, buffer_.data(),
                                     counts(in_), at(in_), type_, comm_);
        return exchange::alltoallv_in_place(buffer_.data(), counts(out_), at(out_), counts(in_), at(in_), type_, comm_);
      default:
        return exchange::alltoallv(sent_.data(), counts(out_), at(out_), type_, buffer_.data(), counts(in_), at(in_),
                                   type_, comm_);
    }
  }

  int call_c() {
    const side &s = out_, &d = in_;
    switch (r_.what) {
      case called::alltoall:
        return TAQUIN_Alltoall(sent_.data(), s.narrow_count[0], type_, &buffer_[exchange_margin], d.narrow_count[0],
                               type_, comm_);
      case called::alltoallw:
        return TAQUIN_Alltoallw(sent_.data(), s.narrow_count.data(), s.bytes.data(), types_.data(), buffer_.data(),
                                d.narrow_count.data(), d.bytes.data(), types_.data(), comm_);
      case called::in_place:
        if (r_.symmetric)
          return TAQUIN_Alltoallv(MPI_IN_PLACE, nullptr, nullptr, MPI_DATATYPE_NULL, buffer_.data(),
                                  d.narrow_count.data(), d.narrow_at.data(), type_, comm_);
        return TAQUIN_Alltoallv_in_place(buffer_.data(), s.narrow_count.data(), s.narrow_at.data(),
                                         d.narrow_count.data(), d.narrow_at.data(), type_, comm_);
      default:
        return TAQUIN_Alltoallv(sent_.data(), s.narrow_count.data(), s.narrow_at.data(), type_, buffer_.data(),
                                d.narrow_count.data(), d.narrow_at.data(), type_, comm_);
    }
  }

  int make_c() {
    const side &s = out_, &d = in_;
    switch (r_.what) {
      case called::alltoall:
        return TAQUIN_Alltoall_init(sent_.data(), s.narrow_count[0], type_, &buffer_[exchange_margin],
                                    d.narrow_count[0], type_, comm_, MPI_INFO_NULL, &c_plan_);
      case called::alltoallw:
        return TAQUIN_Alltoallw_init(sent_.data(), s.narrow_count.data(), s.bytes.data(), types_.data(), buffer_.data(),
                                     d.narrow_count.data(), d.bytes.data(), types_.data(), comm_, MPI_INFO_NULL,
                                     &c_plan_);
      case called::in_place:
        if (r_.symmetric)
          return TAQUIN_Alltoallv_init(MPI_IN_PLACE, nullptr, nullptr, MPI_DATATYPE_NULL, buffer_.data(),
                                       d.narrow_count.data(), d.narrow_at.data(), type_, comm_, MPI_INFO_NULL,
                                       &c_plan_);
        return TAQUIN_Alltoallv_in_place_init(buffer_.data(), s.narrow_count.data(), s.narrow_at.data(),
                                              d.narrow_count.data(), d.narrow_at.data(), type_, comm_, MPI_INFO_NULL,
                                              &c_plan_);
      default:
        return TAQUIN_Alltoallv_init(sent_.data(), s.narrow_count.data(), s.narrow_at.data(), type_, buffer_.data(),
                                     d.narrow_count.data(), d.narrow_at.data(), type_, comm_, MPI_INFO_NULL, &c_plan_);
    }
  }

  const hostile_recipe& r_;
  MPI_Comm comm_;
  int rank_;
  options o_;
  MPI_Datatype type_ = MPI_INT;
  std::vector<MPI_Datatype> types_;
  side out_, in_;
  std::vector<int> sent_, sent_before_;  // not in place
  std::vector<int> buffer_, before_;     // of incoming ones
  std::optional<plan> made_;
  TAQUIN_Plan c_plan_ = TAQUIN_PLAN_NULL;
};

}  // namespace

std::unique_ptr<hostile_call> make_hostile_exchange(const hostile_recipe& r, MPI_Comm comm, int rank,
                                                    const options& o) {
  return std::make_unique<hostile_exchange>(r, comm, rank, o);
}

}  // namespace taquin::soak

// The collectives of the port over MPI.
#include <algorithm>

#include "base/sizes.hpp"
#include "protocol/mpi_port.hpp"
#include "schedule/collectives.hpp"
#include "schedule/executor.hpp"

namespace taquin::detail {

// Words are received into arrays of the task, so an error must end the receives before it ends the task.
bool mpi_port::begin(const collective& c) {
  try {
    if (!c.values.empty()) {
      reduce(c);
    } else if (c.root >= 0) {
      share_words(c);
    } else if (c.each > 0 && dense_ != nullptr) {
      dense_->start();
      dense_running_ = true;
    } else {
      exchange_words(c);
    }
    return collective_complete();
  } catch (...) {
    abandon();
    throw;
  }
}

bool mpi_port::collective_complete() {
  if (dense_ != nullptr && dense_running_) {
    dense_running_ = !dense_->test();
    if (dense_running_) return false;
    statistics done;
    dense_->account(done);
    messages_ += done.messages;
    return true;
  }
  if (reduction_ != nullptr) {
    if (!reduction_->test()) return false;
    reduction_.reset();
    return true;
  }
  poll();
  return words_left_ == 0;
}

// Words go straight to all ranks, in transfers of their own.
void mpi_port::exchange_words(const collective& c) {
  const int p = comm_.size();
  const auto out = [&](std::size_t r) -> strided {
    if (c.each > 0) return {c.out.data() + r * c.each, c.each, 1};
    return {c.out.data() + c.out_at[r] * c.stride, c.out_at[r + 1] - c.out_at[r], c.stride};
  };
  const auto in = [&](std::size_t r) {
    return c.each > 0 ? c.in.subspan(r * c.each, c.each) : c.in.subspan(c.in_at[r], c.in_at[r + 1] - c.in_at[r]);
  };
  const auto self = as_size(comm_.rank());
  const strided own = out(self);
  for (std::size_t k = 0; k < own.length; ++k) in(self)[k] = own.first[k * own.stride];
  for (int k = 1; k < p; ++k) {
    const int from = (comm_.rank() + p - k) % p;
    if (const auto words = in(as_size(from)); !words.empty()) collect(words, from);
  }
  for (int k = 1; k < p; ++k) {
    const int to = (comm_.rank() + k) % p;
    if (const strided words = out(as_size(to)); words.length > 0) report(words, to);
  }
}

void mpi_port::share_words(const collective& c) {
  if (c.root != comm_.rank()) return collect(c.in, c.root);
  for (int to = 0; to < comm_.size(); ++to)
    if (to != c.root) report({c.in.data(), c.in.size(), 1}, to);
}

void mpi_port::collect(std::span<word> words, int from) {
  const std::size_t t = join(words.size(), from);
  transfers_[t].incoming = true;
  requests_.receive(first_transfer() + t, words.data(), static_cast<int>(words.size()), MPI_UINT32_T, from,
                    tag_ + words_tag, comm_.get());
}

void mpi_port::report(const strided& words, int to) {
  const std::size_t t = join(words.length, to);
  const auto n = static_cast<int>(words.length);
  mpi::datatype spaced;
  if (words.stride > 1) {
    MPI_Datatype made = MPI_DATATYPE_NULL;
    TAQUIN_MPI(PMPI_Type_vector(n, 1, static_cast<int>(words.stride), MPI_UINT32_T, &made));
    spaced = mpi::datatype(made);
    TAQUIN_MPI(PMPI_Type_commit(&made));
  }
  requests_.send(first_transfer() + t, words.first, spaced ? 1 : n, spaced ? spaced.get() : MPI_UINT32_T, to,
                 tag_ + words_tag, comm_.get());
}

// A transfer of the collective.
std::size_t mpi_port::join(std::size_t words, int peer) {
  const std::size_t t = free_transfer();
  transfers_[t] = {.length = static_cast<count_t>(words), .scattered = {}, .peer = peer, .of_collective = true};
  ++words_left_;
  return t;
}

void mpi_port::reduce(const collective& c) {
  std::ranges::copy(c.values, values_.begin());
  const auto n = static_cast<count_t>(c.values.size());
  schedule s = build_collective(taquin::detail::collective::allreduce, comm_.rank(), comm_.size(), 0, n,
                                element::of(MPI_UINT64_T), memory_);
  const execution where{.comm = comm_.get(),
                        .tag = tag_ + values_tag,
                        .send = values_.data(),
                        .recv = c.values.data(),
                        .op = c.largest ? MPI_MAX : MPI_SUM};
  reduction_ = make_operation<executor>(*memory_, std::move(s), where, memory_);
  reduction_->start();
}

}  // namespace taquin::detail

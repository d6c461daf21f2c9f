#include "schedule/gate.hpp"

#include "mpi/check.hpp"

namespace taquin::detail {

gate::gate(MPI_Comm comm, int tag, const mpi::awaited* what, std::pmr::memory_resource* memory)
    : comm_(comm), tag_(tag), requests_(2, memory) {
  TAQUIN_MPI(PMPI_Comm_rank(comm_, &rank_));
  TAQUIN_MPI(PMPI_Comm_size(comm_, &ranks_));
  distance_ = ranks_;
  requests_.describe_by(what);
}

void gate::start() {
  distance_ = 1;
  if (distance_ < ranks_) step();
}

void gate::step() {
  const auto to = static_cast<int>((rank_ + distance_) % ranks_);
  const auto from = static_cast<int>((rank_ - distance_ + ranks_) % ranks_);
  requests_.receive(0, nullptr, 0, MPI_BYTE, from, tag_, comm_);
  requests_.send(1, nullptr, 0, MPI_BYTE, to, tag_, comm_);
}

bool gate::over(bool block) {
  while (distance_ < ranks_) {
    if (!requests_.complete_all(block, [](std::size_t) { return count_t{0}; })) return false;
    distance_ *= 2;
    if (distance_ < ranks_) step();
  }
  return true;
}

}  // namespace taquin::detail

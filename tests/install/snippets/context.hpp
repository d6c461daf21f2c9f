// The names that the C++ snippets of the documents use without a definition.
#pragma once

#include <mpi.h>

#include <complex>
#include <cstddef>
#include <cstdio>
#include <map>
#include <numeric>
#include <vector>

#include "taquin/shared_buffer.hpp"
#include "taquin/taquin.hpp"

struct particle {
  double x;
  int id;
};

/// An entry of a sparse matrix.
struct entry {
  int row, column;
  double value;
};

namespace context {

inline const MPI_Comm comm = MPI_COMM_WORLD;
inline int rank() {
  int r = 0;
  MPI_Comm_rank(comm, &r);
  return r;
}
inline int ranks() {
  int p = 0;
  MPI_Comm_size(comm, &p);
  return p;
}

inline std::vector<particle> read_particles() { return std::vector<particle>(8 * static_cast<std::size_t>(ranks())); }
inline int owner_of(const particle& p) { return p.id % ranks(); }

/// Of a grid of one row of processes.
inline int process_of(const entry& e) { return e.column % ranks(); }

/// The program's use of data that are whole after an error.
inline void keep(int, taquin::count_t, taquin::count_t, taquin::count_t) {}
inline void send_later(int, taquin::count_t, const void*, taquin::count_t) {}
inline void still_mine(int, taquin::count_t, taquin::count_t, taquin::count_t) {}

/// The objects that a snippet may use, new for each.
struct names {
  std::size_t p = static_cast<std::size_t>(ranks()), n = 1000;
  int steps = 5;
  std::vector<particle> particles = read_particles();
  std::vector<entry> entries = std::vector<entry>(8 * p, entry{rank(), rank() + 1, 1});
  std::vector<int> counts_to = std::vector<int>(p, 8), destinations = std::vector<int>(p);
  std::vector<double> buffer = std::vector<double>(4 * p, rank());
  std::vector<int> sendcounts = std::vector<int>(p, 3), recvcounts = sendcounts;
  std::vector<double> send = std::vector<double>(p), recv = send;
  std::vector<double> values = std::vector<double>(10 * p);
  double* data = values.data();
  int blocks = static_cast<int>(2 * p), block_length = 5;
  std::vector<int> dest_ranks = std::vector<int>(2 * p, rank()), dest_indices = std::vector<int>(2 * p);

  names() {
    std::iota(destinations.begin(), destinations.end(), 0);
    std::iota(dest_indices.begin(), dest_indices.end(), 0);
  }
};

}  // namespace context
using namespace context;

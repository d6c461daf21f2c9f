// Collectives built from hypercubic permutations, for any number of ranks. Blocking, collective over `comm`; counts in
// elements of `type`, the same on all ranks; `op` is associative and need not be commutative. Errors of the MPI library
// throw mpi_error; a negative count, a null buffer with a positive count or a root outside the communicator throws
// usage_error on every rank. Scratch is linear in what a rank receives. An operator that a program has made must not
// communicate, as MPI has it; a call of taquin on `comm` throws usage_error (MPI_ERR_COMM) there.
//
// Source: Communication Patterns and MPI Primitives, §4. Costs are in Hockney's model, lg the logarithm to base 2
// rounded up, m the bytes of one rank's input.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "taquin/types.hpp"

namespace taquin::patterns {

/// Which ranks exchange with each other in a permutation. (§3.)
enum class permutation : std::uint8_t {
  shift,     ///< rank r to rank r + k on a line; a rank without such a neighbour does not send, or receive
  ring,      ///< rank r to rank r + k, modulo p
  hypercube  ///< rank r with rank r xor k, where there is one: k = 2^i for the i-th dimension
};

/// `count` elements of every rank to one other: both messages are posted together, so that it takes one step and does
/// not deadlock, whatever the size. `by` is k, of either sign for shift and ring and not negative for hypercube; the
/// same on all ranks. Without a sender `recv` is left as it is. τ + μm.
void permute(permutation kind, int by, const void* send, void* recv, count_t count, MPI_Datatype type, MPI_Comm comm);

/// Returns when all ranks have called it. lg p · τ.
void barrier(MPI_Comm comm);
/// `buffer` of `root` to all. lg p · (τ + μm).
void broadcast(void* buffer, count_t count, MPI_Datatype type, int root, MPI_Comm comm);
/// recv at root = send of rank 0 ⊗ send of rank 1 ⊗ …. lg p · (τ + μm), and one message more for a root that is not 0.
void reduce(const void* send, void* recv, count_t count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm);
/// The same on all ranks. lg p · (τ + μm); two rounds more where p is not a power of two.
void allreduce(const void* send, void* recv, count_t count, MPI_Datatype type, MPI_Op op, MPI_Comm comm);
/// All `count` elements of every rank to root, in rank order. lg p · τ + (p − 1)·μm.
void gather(const void* send, void* recv, count_t count, MPI_Datatype type, int root, MPI_Comm comm);
/// The same to all ranks. lg p · τ + (p − 1)·μm.
void allgather(const void* send, void* recv, count_t count, MPI_Datatype type, MPI_Comm comm);
/// From root's p · count elements, `count` to each rank. lg p · τ + (p − 1)·μm.
void scatter(const void* send, void* recv, count_t count, MPI_Datatype type, int root, MPI_Comm comm);
/// recv of rank r = send of rank 0 ⊗ … ⊗ send of rank r, element by element. lg p · (τ + μm).
void scan(const void* send, void* recv, count_t count, MPI_Datatype type, MPI_Op op, MPI_Comm comm);
/// Prefix over all elements of all ranks in rank order: recv[i] = every element before ⊗ send[i]. Counts may differ
/// between ranks. Computation linear in count, communication lg p · (τ + μ·one element).
void scan_elements(const void* send, void* recv, count_t count, MPI_Datatype type, MPI_Op op, MPI_Comm comm);

}  // namespace taquin::patterns

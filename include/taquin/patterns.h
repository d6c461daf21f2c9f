/* Permutations, the collectives that are built from them, and datatypes that MPI lacks, in C. Part of taquin.h.
 *
 * Sources: Communication Patterns and MPI Primitives, §3 and §4; Träff, Rougier, Hunold, Implementing a Classic:
 * Zero-copy All-to-all Communication with MPI Datatypes, §3. */
#ifndef TAQUIN_PATTERNS_H
#define TAQUIN_PATTERNS_H

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Permutations and collectives. Blocking and collective; counts are the same on all ranks unless stated
 * otherwise. An error of one rank is an error on all. ---- */

/* Values of TAQUIN_Permute's `permutation`. */
enum {
  TAQUIN_SHIFT,    /* rank r to rank r + by on a line; a rank without such a neighbour does not send, or receive */
  TAQUIN_RING,     /* rank r to rank r + by, modulo the number of ranks */
  TAQUIN_HYPERCUBE /* rank r with rank r xor by, where there is one; `by` is not negative */
};

/* `count` elements of every rank to one other, in one step whatever their size. Without a sender `recvbuf` is left as
 * it is. */
int TAQUIN_Permute(int permutation, int by, const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype type,
                   MPI_Comm comm);
/* Returns when all ranks have called it. */
int TAQUIN_Barrier(MPI_Comm comm);
/* `buffer` of `root` to all. */
int TAQUIN_Bcast(void *buffer, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm);
/* The elements of all ranks combined by `op`, in rank order, at `root`. The operator need not be commutative, here and
 * below. */
int TAQUIN_Reduce(const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype type, MPI_Op op, int root,
                  MPI_Comm comm);
/* The same on all ranks. */
int TAQUIN_Allreduce(const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm);
/* `count` elements of every rank to `root`, in rank order. */
int TAQUIN_Gather(const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm);
/* The same to all ranks. */
int TAQUIN_Allgather(const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype type, MPI_Comm comm);
/* From the elements of `root`, `count` to each rank. */
int TAQUIN_Scatter(const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm);
/* On rank r the elements of ranks 0 to r combined, element by element. */
int TAQUIN_Scan(const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm);
/* Prefix over all elements of all ranks in rank order. Counts may differ between ranks. */
int TAQUIN_Scan_elements(const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype type, MPI_Op op,
                         MPI_Comm comm);

/* ---- Datatypes. Local; errors are raised on MPI_COMM_WORLD. `*type` is committed, and the caller frees it. ---- */

/* A strided vector with a bound on the elements that it spans: elements 0 to bound-1 whose place in each `stride` is
 * below `block`. */
int TAQUIN_Type_bounded_vector(MPI_Count bound, MPI_Count block, MPI_Count stride, MPI_Datatype base,
                               MPI_Datatype *type);
/* A bounded vector on a circle of `extent` elements: starts at element `start`, and continues at 0 after the last. */
int TAQUIN_Type_circular_vector(MPI_Count extent, MPI_Count bound, MPI_Count start, MPI_Count block, MPI_Count stride,
                                MPI_Datatype base, MPI_Datatype *type);
/* So many buckets of `size` elements side by side, with counts[i] elements at the front of the i-th. */
int TAQUIN_Type_bucket(MPI_Count size, int buckets, const MPI_Count counts[], MPI_Datatype base, MPI_Datatype *type);
/* The basic types of a datatype, in order and without gaps: the type of memory that holds its elements between two
 * messages. */
int TAQUIN_Type_signature(MPI_Datatype of, MPI_Datatype *type);
/* Copies `count` elements of `type` at `from` to `to_count` elements of `to_type`, as many bytes with the same
 * signature. */
int TAQUIN_Typed_copy(const void *from, MPI_Count count, MPI_Datatype type, void *to, MPI_Count to_count,
                      MPI_Datatype to_type);

#ifdef __cplusplus
}
#endif

#endif

/* Layouts in the C API: how an n-dimensional array lies on the ranks of a communicator, and redistribution from one
 * layout to another. Included by taquin.h, whose conventions hold: calls return MPI_SUCCESS or an MPI error code. */
#ifndef TAQUIN_LAYOUT_H
#define TAQUIN_LAYOUT_H

#include <mpi.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How a dimension is distributed over the processes along a dimension of the process grid. */
enum {
  TAQUIN_EVEN = 0,    /* one block per process, the first ones one longer: 2DECOMP&FFT, mpi4py-fft */
  TAQUIN_BLOCK,       /* one block per process of the same length, the last ones shorter: FFTW, MPI_DISTRIBUTE_BLOCK */
  TAQUIN_BLOCK_CYCLIC /* blocks of a given length, assigned to the processes cyclically: ScaLAPACK; of 1: cyclic */
};

/* A layout: dimensions, process grid, storage. Ranks outside the grid hold nothing. */
typedef struct TAQUIN_Layout_state *TAQUIN_Layout;
#define TAQUIN_LAYOUT_NULL NULL

/* A layout of `ndims` dimensions with these extents. `distributions`: one of the above for each; NULL: TAQUIN_EVEN.
 * `processes`: of the grid, for each. `blocks` and `firsts`: the length of a block and the process that owns the first
 * one, of TAQUIN_BLOCK_CYCLIC; NULL: 1 and 0. `order`: MPI_ORDER_C or MPI_ORDER_FORTRAN, of the local arrays. Position
 * k of the grid, counted with the last dimension fastest, is rank k. Local. */
int TAQUIN_Layout_create(int ndims, const MPI_Count extents[], const int distributions[], const int processes[],
                         const MPI_Count blocks[], const int firsts[], int order, TAQUIN_Layout *layout);
/* Blocks of dimension `dim`, one for each process, have these lengths instead. Local. */
int TAQUIN_Layout_set_lengths(TAQUIN_Layout layout, int dim, const MPI_Count lengths[]);
/* The ranks of the grid's positions, `nranks` of them, each once; counted in `order`: MPI_ORDER_C, the last dimension
 * fastest, or MPI_ORDER_FORTRAN, the first one. NULL: position k is rank k. Local. */
int TAQUIN_Layout_set_ranks(TAQUIN_Layout layout, int nranks, const int ranks[], int order);
/* This rank's local array has so many elements along each dimension (leading dimensions); 0: as many as it owns. Ranks
 * may differ. Local. */
int TAQUIN_Layout_set_allocated(TAQUIN_Layout layout, const MPI_Count extents[]);
/* The dimensions of the local arrays, from the one that changes slowest in memory to the one that changes fastest,
 * instead of the order that the layout was made with; NULL: that one. All ranks give the same. Local. */
int TAQUIN_Layout_set_stored(TAQUIN_Layout layout, const int dims[]);
/* Around what a rank owns its array has `before` and `after` elements along each dimension, which are neither read nor
 * written. Local. */
int TAQUIN_Layout_set_halo(TAQUIN_Layout layout, const MPI_Count before[], const MPI_Count after[]);
/* The layout of a matrix of ScaLAPACK: a descriptor (9 entries, for a dense matrix) and its grid. `ranks`: of the grid,
 * column by column; NULL: position k is rank k. Local. */
int TAQUIN_Layout_scalapack(const int descriptor[], int nprow, int npcol, const int ranks[], TAQUIN_Layout *layout);
/* The layout of MPI_Type_create_darray with these arguments. Local. */
int TAQUIN_Layout_darray(int ndims, const int gsizes[], const int distribs[], const int dargs[], const int psizes[],
                         int order, TAQUIN_Layout *layout);
/* The numbers that go to `target` by the calls below are multiplied by real + imaginary * i, after complex numbers are
 * conjugated where `conjugate` is not 0: with axes {1, 0} a conjugate transpose. All elements must be numbers of one
 * type: complex; real, which take a real number; or integers, which take an integer of at most 2^53 and wrap around.
 * Another type is an error of the call, on all ranks. 1, 0 and 0 is the default. All ranks give the same. Local. */
int TAQUIN_Layout_set_scale(TAQUIN_Layout target, double real, double imaginary, int conjugate);
/* The calls below move only a part of the array, where `layout` is their source or their target: `extents` elements
 * along each dimension, from `begin` on, in its own dimensions. NULL: all, and from the first one on. The parts of
 * source and target have the same extents, those of the target in the order of `axes`; one that is not set begins at
 * the first element. Elements outside the target's part keep their values. In one array no part can move. All ranks
 * give the same. Local. */
int TAQUIN_Layout_set_part(TAQUIN_Layout layout, const MPI_Count begin[], const MPI_Count extents[]);
/* Gives the positions of the grid of `layout` to other ranks, of `nranks` of a communicator, so that fewer elements
 * change ranks when an array goes from `from` to it: the fewest possible where positions times ranks are at most 512^2;
 * beyond, at least half as many elements stay on their ranks as in the best assignment, or, where more than 2^22 pairs
 * of a position and a rank have elements in common, as in the best one of each position's heaviest pairs. `axes` as
 * below. All ranks get the same. TAQUIN_Layout_coordinates says which part a rank has then; leading dimensions stay as
 * given. Local. Source: Kabic and others, COSTA: Communication-Optimal Shuffle and Transpose Algorithm with Process
 * Relabeling, section 3. */
int TAQUIN_Layout_relabel(TAQUIN_Layout layout, TAQUIN_Layout from, const int axes[], int nranks);
/* The elements that change ranks when an array goes from one layout to another. `axes` as below. Local. */
int TAQUIN_Layout_elements_moved(TAQUIN_Layout from, TAQUIN_Layout to, const int axes[], MPI_Count *elements);
/* The coordinates of `rank` in the process grid, one for each dimension; -1 each where it is not in the grid. Local. */
int TAQUIN_Layout_coordinates(TAQUIN_Layout layout, int rank, int coordinates[]);
/* The elements that `rank` owns along each dimension. Local. */
int TAQUIN_Layout_local_extents(TAQUIN_Layout layout, int rank, MPI_Count extents[]);
/* The elements that the local array of `rank` must have room for, halo and leading dimensions included. Local. */
int TAQUIN_Layout_local_size(TAQUIN_Layout layout, int rank, MPI_Count *elements);
/* The rank that owns the element with this index, one number for each dimension, and where the element is in the local
 * array of that rank, in elements from its beginning. (Leading dimensions are those of the calling rank.) Local. */
int TAQUIN_Layout_find(TAQUIN_Layout layout, const MPI_Count index[], int *rank, MPI_Count *offset);
/* Frees it; redistributions that were made with it keep what they need. Local. */
int TAQUIN_Layout_free(TAQUIN_Layout *layout);

/* Moves an array of elements of `type`, which has no gaps, from one layout to another. `axes`: dimension d of the
 * source becomes dimension axes[d] of the target; NULL: none is permuted. The arrays do not overlap. Scratch memory: at
 * most TAQUIN_Options.memory, and at most 1 MiB. Collective, blocking. */
int TAQUIN_Redistribute_layout(const void *from_array, TAQUIN_Layout from, void *to_array, TAQUIN_Layout to,
                               const int axes[], MPI_Datatype type, MPI_Comm comm);
/* The same in one array, which has room for the larger of what this rank holds before and afterwards. Halos and what
 * else is outside the target have no meaning afterwards. Scratch memory: as above; at least about 4*sqrt(n*p) + 300*p +
 * 16 KiB bytes for n bytes on the rank with most, of p ranks, and where axes change places n/16384 and 64 KiB. */
int TAQUIN_Redistribute_layout_in_place(void *array, TAQUIN_Layout from, TAQUIN_Layout to, const int axes[],
                                        MPI_Datatype type, MPI_Comm comm);
/* From one array to another, for a part: `extents` elements along each dimension (of the source), from `from_begin` on
 * in the source and from `to_begin` on in the target, whatever TAQUIN_Layout_set_part has set. */
int TAQUIN_Redistribute_layout_part(const void *from_array, TAQUIN_Layout from, const MPI_Count from_begin[],
                                    void *to_array, TAQUIN_Layout to, const MPI_Count to_begin[],
                                    const MPI_Count extents[], const int axes[], MPI_Datatype type, MPI_Comm comm);

/* A redistribution that can run again and again. */
typedef struct TAQUIN_Layout_plan_state *TAQUIN_Layout_plan;
#define TAQUIN_LAYOUT_PLAN_NULL NULL
/* Prepares TAQUIN_Redistribute_layout, without moving data. Collective. */
int TAQUIN_Redistribute_layout_init(const void *from_array, TAQUIN_Layout from, void *to_array, TAQUIN_Layout to,
                                    const int axes[], MPI_Datatype type, MPI_Comm comm, TAQUIN_Layout_plan *plan);
/* Prepares TAQUIN_Redistribute_layout_in_place: every run brings what is in the array, as `from` has it, to `to`. All
 * that can be refused is refused here. Collective. */
int TAQUIN_Redistribute_layout_in_place_init(void *array, TAQUIN_Layout from, TAQUIN_Layout to, const int axes[],
                                             MPI_Datatype type, MPI_Comm comm, TAQUIN_Layout_plan *plan);
/* Begins to move. Nonblocking; all ranks start what they start in the same order. */
int TAQUIN_Redistribute_layout_start(TAQUIN_Layout_plan plan);
/* Makes progress; *flag is not 0 when this rank has sent and received all. */
int TAQUIN_Redistribute_layout_test(TAQUIN_Layout_plan plan, int *flag);
/* Completes it. */
int TAQUIN_Redistribute_layout_wait(TAQUIN_Layout_plan plan);
/* Frees it. Local. */
int TAQUIN_Redistribute_layout_free(TAQUIN_Layout_plan *plan);

#ifdef __cplusplus
}
#endif

#endif

/* Migration in the C API: each item of an array goes to a rank, in place. Part of taquin.h, whose conventions hold:
 * calls return MPI_SUCCESS or an MPI error code. */
#ifndef TAQUIN_MIGRATE_H
#define TAQUIN_MIGRATE_H

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An array whose items migrate. */
typedef struct TAQUIN_Array {
  void *data;            /* its first item */
  MPI_Count item_length; /* consecutive elements of an item */
  MPI_Datatype type;     /* of an element */
  MPI_Count capacity;    /* items that it has room for */
} TAQUIN_Array;

/* Sends item k of the first `items` in `data` to rank destinations[k]. Afterwards `data` holds the *arrived items for
 * this rank, ordered by source and then by position there. It has room for `capacity` items of `item_length`
 * consecutive elements of `type`, whose data lie inside its extent; fewer than 2^31 items on each rank. Items are
 * sorted and exchanged in place. Of the communicator's options `memory`, `in_flight`, `timeout` and `on_timeout`
 * count. Scratch memory: at least 4608 + 300*p + min(l, 4096) + max(4*m, min(m*l, 16384)) bytes for m items of l
 * bytes on a rank of p; the text of MPI_ERR_NO_MEM names exactly the bytes that are needed, and those that are as
 * good as no limit where no rank gets more items than the most that one has. An error of one rank is an error on all,
 * and all items are kept. Where more arrive than there is room for it is MPI_ERR_COUNT, and *arrived is their number.
 * After a failure in the middle TAQUIN_Failure_blocks has the map, in items. Collective, blocking. */
int TAQUIN_Migrate(void *data, MPI_Count items, MPI_Count capacity, MPI_Count item_length, MPI_Datatype type,
                   const int destinations[], MPI_Comm comm, MPI_Count *arrived);
/* The same for several arrays, whose items with one index belong together: all of them move, or none. All ranks give
 * as many arrays, in the same order, with items of the same sizes. One agreement and one permutation serve all
 * arrays; l is the bytes of the widest item. Arrays that follow each other move together where the memory suffices, in
 * groups of up to 16. After a failure in the middle the map is that of the arrays that were moving: those before them
 * have moved, those after them are sorted by destination. Its unit is an item of all these arrays, one after the other.
 * Collective, blocking. */
int TAQUIN_Migrate_arrays(int narrays, const TAQUIN_Array arrays[], MPI_Count items, const int destinations[],
                          MPI_Comm comm, MPI_Count *arrived);

#ifdef __cplusplus
}
#endif

#endif

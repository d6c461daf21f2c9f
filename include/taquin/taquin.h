/* The C API. Usable from C99 and C++.
 *
 * The calls take MPI's argument lists. They return MPI_SUCCESS or an MPI error code after the communicator's error
 * handler was called with it (MPI_COMM_WORLD's when there is no valid communicator), so that with
 * MPI_ERRORS_ARE_FATAL a failure ends the program as MPI's own calls do; taquin prints the text before. When arguments
 * or memory are refused no data have moved, and all ranks get the same error (docs/guide/8-hangs.md): MPI_ERR_COUNT,
 * MPI_ERR_TYPE, MPI_ERR_BUFFER, MPI_ERR_COMM, MPI_ERR_ARG, MPI_ERR_TRUNCATE (a rank sends more than its peer expects),
 * MPI_ERR_NO_MEM (the memory allowed is too small). TAQUIN_Last_error returns the text. Before MPI_Init and after
 * MPI_Finalize a call is MPI_ERR_OTHER; no handler is called. A datatype that is not committed is an error on all ranks
 * where the MPI library checks datatypes.
 *
 * Names that end in _c take 64-bit counts (MPI_Count) and displacements (MPI_Aint), whatever the MPI library offers. */
#ifndef TAQUIN_TAQUIN_H
#define TAQUIN_TAQUIN_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#include "taquin/layout.h"
#include "taquin/migrate.h"
#include "taquin/patterns.h"
#include "taquin/version.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Options: per communicator, the same on all ranks, except that `memory` may differ: the smallest one rules. ----
 */

/* The value of TAQUIN_Options.memory that sets no limit. */
#define TAQUIN_UNLIMITED SIZE_MAX

/* Values of TAQUIN_Options.layout: how the Bruck algorithms describe the scattered blocks of a message. */
enum {
  TAQUIN_LAYOUT_AUTOMATIC = 0, /* chosen by the algorithm: packed, but for lean_bruck and zero_copy_bruck */
  TAQUIN_LAYOUT_INDEXED,       /* a datatype that lists each block */
  TAQUIN_LAYOUT_REGULAR,       /* a datatype that joins blocks that are consecutive or at equal distances */
  TAQUIN_LAYOUT_ELEMENTS,      /* a structured datatype that lists each block */
  TAQUIN_LAYOUT_BLOCKS,        /* a structured datatype of rows of up to radix^k blocks */
  TAQUIN_LAYOUT_PACKED         /* no datatype: taquin packs and unpacks */
};

/* Values of TAQUIN_Options.progress: what progresses a started plan while the program does other work. */
enum {
  TAQUIN_PROGRESS_LIBRARY = 0, /* the MPI library: "auto" takes exchanges of one round where any serves */
  TAQUIN_PROGRESS_CALLS,       /* calls of taquin: any algorithm */
  TAQUIN_PROGRESS_THREAD       /* a thread as well; takes MPI_THREAD_MULTIPLE */
};

/* Values of TAQUIN_Options.on_timeout: the reaction of a rank to its timeout, after its report. */
enum {
  TAQUIN_TIMEOUT_WAIT = 0, /* it goes on waiting */
  TAQUIN_TIMEOUT_ABORT,    /* MPI_Abort */
  TAQUIN_TIMEOUT_FAIL      /* MPI_ERR_OTHER; the communicator cannot be used with taquin any more */
};

/* Options of a communicator. Fields are only ever added at the end. The initializer sets every default: "auto", no
 * limit of memory, 0 or NULL, with the meaning given at each field. */
typedef struct TAQUIN_Options {
  size_t size;           /* of this struct as the caller knows it; set by the initializer */
  const char *algorithm; /* a name that `taquin list` prints, or "auto"; TAQUIN_ALGORITHM overrides "auto" */
  size_t memory;         /* bytes of scratch memory per rank; TAQUIN_UNLIMITED: any; in place with any
                            counts: 1% of the most that a rank sends or receives, at least 64 KiB */
  int radix;             /* Bruck: digits' base, at least 2; 0: the least power of two with which two rounds are
                            enough, at most 16 */
  int in_flight;         /* most messages sent and not received, and most unexpected messages at a rank; 0: 32 */
  int ports;             /* hierarchical algorithms: concurrent exchanges of a node, at most 30; 0: 8 */
  int node_count;        /* entries of `nodes`; 0: TAQUIN_NODES, or detected */
  const int *nodes;      /* ranks per node, in rank order; NULL: as node_count 0 */
  int check;             /* not 0: compare what ranks send with what their peers expect, before sending; 0: the
                            value of TAQUIN_CHECK, or not */
  int layout;            /* Bruck: one of TAQUIN_LAYOUT_*; 0: TAQUIN_LAYOUT_AUTOMATIC */
  const char *inner;     /* two_phase: the algorithm of its two exchanges; NULL: "spread_out" */
  int tune;              /* not 0: plans measure the best few algorithms on their first starts and stay with the
                            fastest; for the algorithm "auto"; 0: they do not */
  int scratch_sends;     /* not 0: in place, bytes of send blocks outside all receive blocks may be overwritten;
                            0: they keep their values */
  const char *levels;    /* multilevel: the algorithms of its levels, from nodes inwards, separated by commas, each
                            with a radix after a colon if wanted, or "auto"; NULL: "bruck_v,spread_out" */
  int progress;          /* plans: one of TAQUIN_PROGRESS_*; 0: TAQUIN_PROGRESS_LIBRARY */
  int on_timeout;        /* one of TAQUIN_TIMEOUT_*; 0: TAQUIN_TIMEOUT_WAIT */
  double timeout;        /* seconds that a call may wait until it reports, once, the missing ranks; 0: the
                            value of TAQUIN_TIMEOUT, or never */
  int aux_parts;         /* in_place_phases: static parts of the scratch memory; 0: a 16th of the most peers of any
                            rank, at least 1 */
  int aux_heap;          /* not 0: in_place_phases: scratch memory as one heap; 0: static parts */
  int sparse_requests;   /* not 0, the default: in_place_phases: requests only between ranks that have data for each
                            other; 0: an alltoall of them, with memory linear in the ranks */
  int leaders;           /* node_aggregated: ranks of a node that exchange messages with other nodes; 0: all */
  double least_progress; /* redistributions: the least part, 0 to 1, of the blocks left that a round must bring to their
                            ranks; after a round below it "slots" takes over; 0: never */
} TAQUIN_Options;

/* Initializer with the defaults: TAQUIN_Options options = TAQUIN_OPTIONS_INIT; */
#define TAQUIN_OPTIONS_INIT                                                                                           \
  {                                                                                                                   \
    sizeof(TAQUIN_Options), "auto", TAQUIN_UNLIMITED, 0, 0, 0, 0, NULL, 0, TAQUIN_LAYOUT_AUTOMATIC, NULL, 0, 0, NULL, \
        TAQUIN_PROGRESS_LIBRARY, TAQUIN_TIMEOUT_WAIT, 0, 0, 0, 1, 0, 0                                                \
  }

/* Sets the options of all later calls on `comm` and on duplicates that are made of it afterwards. The struct and its
 * strings are copied. NULL goes back to the defaults. Local; all ranks must do it before the next call. A name that no
 * algorithm has is refused by that call, on all ranks. */
int TAQUIN_Comm_set_options(MPI_Comm comm, const TAQUIN_Options *options);
/* Reads them; options->size must be set (by TAQUIN_OPTIONS_INIT). The string lives until the options change. Local. */
int TAQUIN_Comm_get_options(MPI_Comm comm, TAQUIN_Options *options);

/* ---- Statistics: taquin's work, summed. ---- */

/* Bytes are data bytes, without MPI's own envelopes. Fields are only ever added at the end. */
typedef struct TAQUIN_Statistics {
  size_t size;           /* of this struct as the caller knows it; set by the initializer */
  const char *algorithm; /* name of the algorithm that ran last; "" before any has */
  uint64_t starts;       /* exchanges started */
  uint64_t rounds;       /* communication rounds */
  uint64_t messages;     /* messages sent to other ranks by this rank; through shared memory: blocks */
  uint64_t bytes_sent;   /* bytes sent to other ranks by this rank */
  uint64_t bytes_copied; /* bytes copied inside this rank's memory, packing included */
  size_t peak_memory;    /* most bytes of scratch memory in use at any time on this rank */
  double requests_time;  /* seconds of in_place_phases until requests are exchanged */
  double data_time;      /* and until data are */
  double update_time;    /* and for moves inside the rank */
} TAQUIN_Statistics;

/* Initializer: TAQUIN_Statistics statistics = TAQUIN_STATISTICS_INIT; */
#define TAQUIN_STATISTICS_INIT \
  { sizeof(TAQUIN_Statistics), "", 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/* Starts (on is not 0) counting from zero what this rank's blocking exchanges and sparse exchanges on `comm` do, or
 * stops it (on is 0). A duplicate of `comm` has counts of its own. Plans and redistributions always have counts of
 * their own. Local. */
int TAQUIN_Comm_set_statistics(MPI_Comm comm, int on);
/* Reads the counts of `comm`, all zero where counting is off; statistics->size must be set (by
 * TAQUIN_STATISTICS_INIT). Local. */
int TAQUIN_Comm_get_statistics(MPI_Comm comm, TAQUIN_Statistics *statistics);

/* ---- Blocking exchanges. Collective. `sendbuf` may be MPI_IN_PLACE. Then, where ranks are on several nodes, all
 * blocks of all ranks must have elements of one size, of a type whose data are equal parts; others are refused on all
 * ranks with MPI_ERR_UNSUPPORTED_OPERATION. ---- */

/* MPI_Alltoall. */
int TAQUIN_Alltoall(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
                    MPI_Datatype recvtype, MPI_Comm comm);
/* The same with 64-bit counts. */
int TAQUIN_Alltoall_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
                      MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm);

/* MPI_Alltoallv. */
int TAQUIN_Alltoallv(const void *sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype,
                     void *recvbuf, const int recvcounts[], const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm);
/* The same with 64-bit counts and displacements. */
int TAQUIN_Alltoallv_c(const void *sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                       MPI_Datatype sendtype, void *recvbuf, const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                       MPI_Datatype recvtype, MPI_Comm comm);

/* MPI_Alltoallw: displacements in bytes. */
int TAQUIN_Alltoallw(const void *sendbuf, const int sendcounts[], const int sdispls[], const MPI_Datatype sendtypes[],
                     void *recvbuf, const int recvcounts[], const int rdispls[], const MPI_Datatype recvtypes[],
                     MPI_Comm comm);
/* The same with 64-bit counts and displacements. */
int TAQUIN_Alltoallw_c(const void *sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                       const MPI_Datatype sendtypes[], void *recvbuf, const MPI_Count recvcounts[],
                       const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm);

/* alltoallv in one buffer, with any counts and displacements on either side (MPI_IN_PLACE allows only equal ones):
 * block j of `sendcounts`, `sdispls` goes to rank j, what rank j sent is put at block j of `recvcounts`, `rdispls`.
 * Send blocks must not overlap each other, nor receive blocks each other; send and receive blocks may. Bytes outside
 * all receive blocks keep their values, but see TAQUIN_Options.scratch_sends. */
int TAQUIN_Alltoallv_in_place(void *buffer, const int sendcounts[], const int sdispls[], const int recvcounts[],
                              const int rdispls[], MPI_Datatype type, MPI_Comm comm);
/* The same with 64-bit counts and displacements. */
int TAQUIN_Alltoallv_in_place_c(void *buffer, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                                const MPI_Count recvcounts[], const MPI_Aint rdispls[], MPI_Datatype type,
                                MPI_Comm comm);

/* ---- Plans: an exchange prepared once, started as often as wanted. ---- */

/* A prepared exchange. */
typedef struct TAQUIN_Plan_state *TAQUIN_Plan;
/* The null plan. */
#define TAQUIN_PLAN_NULL NULL

/* Prepare. Collective; argument lists of MPI 4's persistent collectives. Counts, displacements and types are read here
 * and need not live on; buffers must. `info` may be MPI_INFO_NULL; its keys override the communicator's options and
 * must be the same on all ranks, but for the memory: taquin_algorithm, taquin_memory (bytes, or 64K, 50M),
 * taquin_radix, taquin_in_flight, taquin_ports, taquin_nodes (ranks per node, separated by commas), taquin_check,
 * taquin_layout, taquin_inner, taquin_tune, taquin_scratch_sends, taquin_levels, taquin_progress, taquin_on_timeout,
 * taquin_timeout, taquin_aux_parts, taquin_aux_heap, taquin_sparse_requests, taquin_leaders. Values are numbers, flags
 * 0 or 1, choices numbers or words (taquin_layout: "packed"). Another key that begins with taquin_ is refused on all
 * ranks; keys of others are left alone. *plan is TAQUIN_PLAN_NULL after a failure. */
int TAQUIN_Alltoall_init(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
                         MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, TAQUIN_Plan *plan);
/* The same with 64-bit counts. */
int TAQUIN_Alltoall_init_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
                           MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, TAQUIN_Plan *plan);
/* Prepares an alltoallv, as TAQUIN_Alltoall_init. */
int TAQUIN_Alltoallv_init(const void *sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype,
                          void *recvbuf, const int recvcounts[], const int rdispls[], MPI_Datatype recvtype,
                          MPI_Comm comm, MPI_Info info, TAQUIN_Plan *plan);
/* The same with 64-bit counts and displacements. */
int TAQUIN_Alltoallv_init_c(const void *sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                            MPI_Datatype sendtype, void *recvbuf, const MPI_Count recvcounts[],
                            const MPI_Aint rdispls[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                            TAQUIN_Plan *plan);
/* Prepares an alltoallw, as TAQUIN_Alltoall_init. */
int TAQUIN_Alltoallw_init(const void *sendbuf, const int sendcounts[], const int sdispls[],
                          const MPI_Datatype sendtypes[], void *recvbuf, const int recvcounts[], const int rdispls[],
                          const MPI_Datatype recvtypes[], MPI_Comm comm, MPI_Info info, TAQUIN_Plan *plan);
/* The same with 64-bit counts and displacements. */
int TAQUIN_Alltoallw_init_c(const void *sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                            const MPI_Datatype sendtypes[], void *recvbuf, const MPI_Count recvcounts[],
                            const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm, MPI_Info info,
                            TAQUIN_Plan *plan);
/* Prepares an alltoallv in one buffer (TAQUIN_Alltoallv_in_place), as TAQUIN_Alltoall_init. */
int TAQUIN_Alltoallv_in_place_init(void *buffer, const int sendcounts[], const int sdispls[], const int recvcounts[],
                                   const int rdispls[], MPI_Datatype type, MPI_Comm comm, MPI_Info info,
                                   TAQUIN_Plan *plan);
/* The same with 64-bit counts and displacements. */
int TAQUIN_Alltoallv_in_place_init_c(void *buffer, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                                     const MPI_Count recvcounts[], const MPI_Aint rdispls[], MPI_Datatype type,
                                     MPI_Comm comm, MPI_Info info, TAQUIN_Plan *plan);

/* Begins the exchange. Local; all ranks start their plans in the same order. MPI_ERR_REQUEST when it is started
 * already.
 */
int TAQUIN_Start(TAQUIN_Plan plan);
/* Progresses; *flag is 1 when the exchange is complete (or none is started), otherwise 0. Local. */
int TAQUIN_Test(TAQUIN_Plan plan, int *flag);
/* Completes the exchange. */
int TAQUIN_Wait(TAQUIN_Plan plan);
/* Scratch bytes in use now. Local. */
int TAQUIN_Plan_memory(TAQUIN_Plan plan, size_t *bytes);
/* The work of the plan's starts. Local. */
int TAQUIN_Plan_get_statistics(TAQUIN_Plan plan, TAQUIN_Statistics *statistics);
/* Frees the plan, which must not be started, before its communicator is freed, and sets *plan to TAQUIN_PLAN_NULL. A
 * null plan is MPI_ERR_REQUEST; no handler is called. Local. */
int TAQUIN_Plan_free(TAQUIN_Plan *plan);

/* ---- Errors ---- */

/* The text of the last error of this thread, with ranks and numbers; "" when none has.
 * The string lives until this thread's next failure. */
const char *TAQUIN_Last_error(void);
/* For interfaces on top of this one: the text of an error that they found in this rank's arguments. The next call of
 * this thread refuses them, and all ranks get MPI_ERR_ARG and the text. The text must live until that call returns.
 * Local. */
void TAQUIN_Set_invalid_argument(const char *what);

/* ---- The data that are whole after a failed call ---- */

/* The state of a run of data: see taquin::failure::state in taquin/failure.hpp. */
enum {
  TAQUIN_STANDS,   /* for a peer: whole, at `at` */
  TAQUIN_ARRIVED,  /* from a peer: whole and in its place, at `at` */
  TAQUIN_STAGED,   /* whole, but not in the caller's array: among the staged units, from unit `at` on */
  TAQUIN_MISSING,  /* from a peer, which had it last: not here */
  TAQUIN_UNKNOWN,  /* being swapped or moved when the call failed: perhaps damaged */
  TAQUIN_DISPLACED /* a block of this rank: whole, at `at`, which is not its place */
};

/* `length` units for or from `peer`. In place: from unit `offset` of the peer's block. Of a redistribution a unit is a
 * block, and `offset` its place on the rank that it goes to; between layouts a byte, and its place in the target. `at`:
 * where it is; -1: nowhere. */
typedef struct TAQUIN_Part {
  int state;        /* TAQUIN_STANDS and so on */
  int peer;         /* the rank that it goes to or is from */
  MPI_Count offset; /* units from the beginning of the peer's block; of a redistribution: its place there */
  MPI_Count length; /* units */
  MPI_Count at;     /* units from the array's beginning, or among the staged ones; -1: nowhere */
} TAQUIN_Part;

/* The map of one rank. Outgoing data that it does not list have left the rank. */
typedef struct TAQUIN_Block_map {
  int known;                   /* 0: nothing has moved, or there was no memory for the map */
  MPI_Count unit_bytes;        /* data bytes of a unit */
  MPI_Count outgoing_size;     /* parts in `outgoing`: data that have not left their place */
  const TAQUIN_Part *outgoing; /* so many parts */
  MPI_Count incoming_size;     /* parts in `incoming`: all data that this rank receives or keeps */
  const TAQUIN_Part *incoming; /* so many parts */
  MPI_Count staged_units;      /* units that are whole, and not in the caller's array */
  const void *staged;          /* their data, without gaps */
} TAQUIN_Block_map;

/* The map of the last exchange in place or redistribution, also between layouts, that has failed in this thread. Its
 * memory is valid until the next one starts. Local. */
int TAQUIN_Failure_blocks(TAQUIN_Block_map *map);

/* ---- Memory that the ranks of a node can map ---- */

/* Memory of `size` bytes, all zero, which begins at a page and which other ranks of the node map when an exchange needs
 * it: exchanges between such buffers are plain copies. It is recognised by its address. fork() does not copy it: parent
 * and child have the same. MPI_ERR_NO_MEM when there is none, raised on MPI_COMM_WORLD. Local. */
int TAQUIN_Alloc_shared(MPI_Aint size, void *baseptr);
/* Frees it; no exchange may be in progress in it. Null is allowed. Local. */
int TAQUIN_Free_shared(void *base);

/* ---- Redistribution of blocks, in place. ---- */

/* An array of equal blocks that can be redistributed again and again. */
typedef struct TAQUIN_Redistribution_state *TAQUIN_Redistribution;
/* The null redistribution. */
#define TAQUIN_REDISTRIBUTION_NULL NULL

/* An array of `blocks` blocks (at most 10^9; any number on each rank) of `block_length` elements of `type`.
 * `algorithm`: a name that `taquin list --redistribution` prints, or NULL for the default. `memory`: bytes of
 * scratch memory on this rank, TAQUIN_UNLIMITED for any. The communicator's options have `progress`, `in_flight`,
 * `timeout`, `on_timeout` and `least_progress`. Scratch memory on a rank of p with m blocks of l bytes: tables of at
 * most 21504 + 300*p + 16*m bytes, and buffers; at least 21504 + 300*p + 16*m*n + 3*l/n, where blocks of 8 KiB or more
 * go in n equal parts of at least 4 KiB. The text of MPI_ERR_NO_MEM names exactly the bytes that are
 * needed, and those that are as good as no limit. Collective. An error of one rank is an error on all; only a null
 * communicator is an error on this rank alone. The communicator may be freed: errors then call the handler that it has
 * now. */
int TAQUIN_Redistribution_create(void *data, MPI_Count blocks, MPI_Count block_length, MPI_Datatype type, MPI_Comm comm,
                                 const char *algorithm, size_t memory, TAQUIN_Redistribution *redistribution);
/* Moves block k to place dest_indices[k] of rank dest_ranks[k], for k < length; a rank of -1 marks a dead block, and
 * blocks from `length` on are dead. A bad map (a negative length and null arrays included) is refused on all ranks with
 * the data untouched. Collective. A null handle belongs to no communicator: it is an error on this rank alone, raised
 * on MPI_COMM_WORLD, whose default handler ends the program; with MPI_ERRORS_RETURN the others wait, as in any
 * collective call of MPI, until this rank makes the call with the right handle. */
int TAQUIN_Redistribution_redistribute(TAQUIN_Redistribution redistribution, int length, const int dest_ranks[],
                                       const int dest_indices[]);
/* Begins the same. The destinations are read here and need not live on. Local; all ranks start their plans and
 * redistributions in the same order. MPI_ERR_REQUEST when it is started already. */
int TAQUIN_Redistribution_start(TAQUIN_Redistribution redistribution, int length, const int dest_ranks[],
                                const int dest_indices[]);
/* Progresses; *flag is 1 when the redistribution is complete (or none is started), otherwise 0. A bad map is
 * reported here or by the wait, on all ranks. Local. */
int TAQUIN_Redistribution_test(TAQUIN_Redistribution redistribution, int *flag);
/* Completes the redistribution. */
int TAQUIN_Redistribution_wait(TAQUIN_Redistribution redistribution);
/* After a failure: survivors agree on where each block is, and continue with the remaining blocks. `survivors`: a
 * communicator of ranks of the one before, which it replaces, error handler included. `map`: where this rank's blocks
 * are then; ranks in it are those of the communicator before. Its memory is valid until the next such call or until
 * the redistribution is freed. See redistribution::repair in taquin/redistribute.hpp. Collective over
 * `survivors`. */
int TAQUIN_Redistribution_repair(TAQUIN_Redistribution redistribution, MPI_Comm survivors, TAQUIN_Block_map *map);
/* The reverse: the same, and the map has the place of each block before the start that has failed, whose destinations
 * are given once more. See redistribution::roll_back in taquin/redistribute.hpp. Collective over
 * `survivors`. */
int TAQUIN_Redistribution_roll_back(TAQUIN_Redistribution redistribution, MPI_Comm survivors, int length,
                                    const int dest_ranks[], const int dest_indices[], TAQUIN_Block_map *map);
/* Sorts the blocks of this rank in place by destination rank, dead ones last, and the destinations with them. `length`
 * is the number of the array's blocks. Each has a rank, -1 for a dead block, and an index. Each block is copied at
 * most once, and one per closed cycle once more. Another length is MPI_ERR_COUNT, a rank that does not exist
 * MPI_ERR_RANK, a limit of memory without room to sort in MPI_ERR_NO_MEM, on this rank and with everything as before;
 * MPI_ERR_REQUEST when it is started. Local. */
int TAQUIN_Redistribution_sort(TAQUIN_Redistribution redistribution, int length, int dest_ranks[], int dest_indices[]);
/* Continues with another array of the same shape. Local. */
int TAQUIN_Redistribution_set_data(TAQUIN_Redistribution redistribution, void *data);
/* Scratch bytes in use now. Local. */
int TAQUIN_Redistribution_memory(TAQUIN_Redistribution redistribution, size_t *bytes);
/* Its work. Local. */
int TAQUIN_Redistribution_get_statistics(TAQUIN_Redistribution redistribution, TAQUIN_Statistics *statistics);
/* Frees it and sets the handle to TAQUIN_REDISTRIBUTION_NULL. A null handle is MPI_ERR_ARG; no handler is called.
 * Local. */
int TAQUIN_Redistribution_free(TAQUIN_Redistribution *redistribution);

/* ---- Sparse exchange: each rank knows to whom it sends; the exchange finds out from whom it receives. ---- */

/* A sparse exchange of which sources and sizes are known. */
typedef struct TAQUIN_Sparse_state *TAQUIN_Sparse;
/* The null sparse exchange. */
#define TAQUIN_SPARSE_NULL NULL
/* Returns memory of `bytes` bytes, or NULL if there is none. `context` is the argument of TAQUIN_Sparse_exchange. It
 * may call taquin on other communicators; calls on the communicator of the exchange, which is pending, return
 * MPI_ERR_COMM on all ranks that make them, and communicate nothing. */
typedef void *TAQUIN_Allocate(size_t bytes, void *context);

/* Finds the ranks that have data for this one. This rank has `blocks` consecutive blocks in `data`:
 * block k has counts[k] elements of `type` for rank destinations[k]; `data` must stay until TAQUIN_Sparse_end. A rank
 * may be a destination several times, and its own. The elements have as many bytes on all ranks. Afterwards *incoming
 * is the number of blocks that come to this rank, and *elements how many elements they have in all. The communicator's
 * options say `memory`, `in_flight`, `timeout` and `on_timeout`. Collective; what is wrong on one rank is an error
 * on all, and nothing is sent then. */
int TAQUIN_Sparse_begin(const void *data, int blocks, const int destinations[], const MPI_Count counts[],
                        MPI_Datatype type, MPI_Comm comm, TAQUIN_Sparse *sparse, int *incoming, MPI_Count *elements);
/* The rank that each block comes from, ascending, and its elements; blocks of one rank are in its order. Each array has
 * as many entries as there are incoming blocks, or is NULL. Local. */
int TAQUIN_Sparse_sources(TAQUIN_Sparse sparse, int sources[], MPI_Count counts[]);
/* Receives all blocks, consecutively, into `buffer`. Collective. May be called again, until TAQUIN_Sparse_end: the
 * contents of `data` at that time are sent. */
int TAQUIN_Sparse_data(TAQUIN_Sparse sparse, void *buffer);
/* The reverse exchange, for answers: sends to the source of each received block as many elements of
 * `type` as the block has, from `answers`, in the order of TAQUIN_Sparse_sources. Into `buffer` come the answers to
 * this rank's own blocks, as many elements as each has, in the order in which it gave them. Collective, with the same
 * `type` each time, as often as there is something to answer; `destinations`, `counts` and the communicator must stay
 * until the last one. */
int TAQUIN_Sparse_reply(TAQUIN_Sparse sparse, const void *answers, MPI_Datatype type, void *buffer);
/* Frees it and sets the handle to TAQUIN_SPARSE_NULL. It may be freed without having received the data, if all ranks do
 * so. A null handle is MPI_ERR_ARG; no handler is called. Local. */
int TAQUIN_Sparse_end(TAQUIN_Sparse *sparse);
/* All of it in one call. `allocate` is called three times, with `context`: for *sources, *recvcounts and *buffer, which
 * are the caller's from then on, after an error as well. Where it gives NULL for more than 0 bytes, this rank gets
 * MPI_ERR_NO_MEM, and so do all others where nothing has been sent by then. Its elements lie as `type` says, its extent
 * apart. */
int TAQUIN_Sparse_exchange(const void *data, int blocks, const int destinations[], const MPI_Count counts[],
                           MPI_Datatype type, MPI_Comm comm, TAQUIN_Allocate *allocate, void *context, int *incoming,
                           int **sources, MPI_Count **recvcounts, void *buffer);

#ifdef __cplusplus
}
#endif

#endif

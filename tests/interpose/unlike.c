/* Ranks that differ: a local property differs on one rank from the start, or from a later
   call on, and every form of all-to-all call goes on with right results. Arguments: the thing that differs, the
   round before which it begins to (0: before MPI_Init, for space before the first call), and for a device its
   runtime. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "checks.h"

enum { rounds = 70, most_ranks = 8, block = 3, odd_rank = 1 };

static const char *thing, *runtime;
static int rank, ranks, differs;
static int out[most_ranks * block], in[most_ranks * block];
static MPI_Datatype pair_of_ints; /* a block as another type with the same signature */

static int is(const char *name) { return strcmp(thing, name) == 0; }

/* Parts of this process's memory that taquin shares with others. */
static int shared_parts(void) {
  static const char name[] = "memfd:taquin";
  static char part[4096];
  const int file = open("/proc/self/maps", O_RDONLY);
  int parts = 0;
  size_t known = 0; /* characters of the name that the last ones are */
  CHECK(file >= 0);
  for (ssize_t n = 0; (n = read(file, part, sizeof part)) > 0;)
    for (ssize_t i = 0; i < n; ++i) {
      known = part[i] == name[known] ? known + 1 : part[i] == name[0];
      if (known + 1 == sizeof name) ++parts, known = 0;
    }
  close(file);
  return parts;
}
static int most_parts;

/* So much address space is left: a job that runs without taquin still does. taquin maps nothing more. */
static void leave_little_space(void) {
  enum { left = 300 * 1024 };
  char text[32] = "";
  struct rlimit limit = {0, 0};
  const int file = open("/proc/self/statm", O_RDONLY);
  CHECK(read(file, text, sizeof text - 1) > 0);
  close(file);
  getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = (rlim_t)(atol(text) * sysconf(_SC_PAGESIZE)) + left;
  CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
  most_parts = shared_parts();
}

/* Data that taquin has brought to memory of a device: by the MPI library, which can write there. */
static int brought_to_device;
int PMPI_Unpack(const void *from, int size, int *at, void *to, int n, MPI_Datatype type, MPI_Comm comm) {
  static int (*next)(const void *, int, int *, void *, int, MPI_Datatype, MPI_Comm);
  if (next == NULL) *(void **)&next = dlsym(RTLD_NEXT, "PMPI_Unpack");
  brought_to_device += differs && is("device") && (uintptr_t)to - (uintptr_t)in < sizeof in;
  return next(from, size, at, to, n, type, comm);
}

/* The action of one rank alone. */
static void begin_to_differ(void) {
  differs = 1;
  if (is("runtime") || is("device")) {
    void *library = dlopen(runtime, RTLD_NOW | RTLD_GLOBAL);
    CHECK(library != NULL);
    if (is("runtime")) return;
    *(uintptr_t *)dlsym(library, "device_begin") = (uintptr_t)in;
    *(uintptr_t *)dlsym(library, "device_end") = (uintptr_t)in + sizeof in;
  } else if (is("descriptors")) {
    struct rlimit limit = {0, 0};
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = (rlim_t)dup(0); /* no more than are open */
    setrlimit(RLIMIT_NOFILE, &limit);
  } else if (is("files")) {
    struct rlimit limit = {0, 0};
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = 0;
    setrlimit(RLIMIT_FSIZE, &limit);
  } else if (is("space")) {
    leave_little_space();
  } else if (is("permissions")) {
    prctl(PR_SET_DUMPABLE, 0);
  } else if (is("environment")) {
    setenv("TAQUIN_ALGORITHM", "native", 1);
    setenv("TAQUIN_SHARED_MEMORY", "0", 1);
    setenv("TAQUIN_MEMORY", "16", 1);
    setenv("TAQUIN_DISABLE", "1", 1);
    unsetenv("LD_PRELOAD");
  }
}

/* The types and counts of a call. Types that differ have the same signature; MPICH permits that those of empty blocks
   are none. */
typedef struct {
  int counts[most_ranks], at[most_ranks], bytes_at[most_ranks];
  MPI_Aint addresses[most_ranks];
  MPI_Datatype types[most_ranks];
  int *base;
} side;

static side make_side(int *base, int n, int empty) {
  side s;
  s.base = base;
  for (int k = 0; k < n; ++k) {
    const int none = empty && k % 2 == 0;
    s.counts[k] = none ? 0 : block;
    s.at[k] = k * block;
    s.bytes_at[k] = k * block * (int)sizeof(int);
    s.addresses[k] = s.bytes_at[k];
    s.types[k] = MPI_INT;
    if (differs && is("null_types") && none) s.types[k] = MPI_DATATYPE_NULL;
    if (differs && is("types") && !none) s.counts[k] = 1, s.types[k] = pair_of_ints;
    if (differs && is("addresses")) {
      MPI_Get_address((char *)base + s.bytes_at[k], &s.addresses[k]);
      if (s.addresses[k] == (int)s.addresses[k]) s.bytes_at[k] = (int)s.addresses[k];
    }
  }
  return s;
}

static int value(int from, int to, int call, int i) { return from * 100000 + to * 1000 + call * 10 + i; }

static void fill(const int peers[], int n, int call) {
  for (int k = 0; k < n; ++k)
    for (int i = 0; i < block; ++i) {
      out[k * block + i] = value(rank, peers[k], call, i);
      in[k * block + i] = -1;
    }
}
static void check(const int peers[], int n, int call, int empty) {
  for (int k = 0; k < n; ++k)
    for (int i = 0; i < block; ++i)
      CHECK(in[k * block + i] == (empty && k % 2 == 0 ? -1 : value(peers[k], rank, call, i)));
}

static void complete(MPI_Request *request) { OK(MPI_Wait(request, MPI_STATUS_IGNORE)); }

static void in_place_by_counts(MPI_Comm comm, const int all[], int call) {
  side s = make_side(in, ranks, 0);
  const MPI_Datatype one = differs && is("types") ? pair_of_ints : MPI_INT;
  int at[most_ranks];
  MPI_Request request;
  for (int k = 0; k < ranks; ++k) at[k] = differs && is("types") ? k : s.at[k];
  for (int how = 0; how < 4; ++how) {
    fill(all, ranks, call);
    memcpy(in, out, sizeof in);
    if (how == 0) OK(MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, in, s.counts, at, one, comm));
    if (how == 1)
      OK(MPI_Ialltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, in, s.counts, at, one, comm, &request));
    if (how == 2) OK(MPI_Alltoallw(MPI_IN_PLACE, NULL, NULL, NULL, in, s.counts, s.bytes_at, s.types, comm));
    if (how == 3) OK(MPI_Ialltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, s.counts[0], one, comm, &request));
    if (how % 2 == 1) complete(&request);
    check(all, ranks, call, 0);
  }
}

static void among_all(MPI_Comm comm, int call) {
  int all[most_ranks];
  MPI_Request request;
  for (int k = 0; k < ranks; ++k) all[k] = k;
  const MPI_Datatype one = differs && is("types") ? pair_of_ints : MPI_INT;
  const int count = differs && is("types") ? 1 : block;
  fill(all, ranks, call);
  OK(MPI_Alltoall(out, count, one, in, count, one, comm));
  check(all, ranks, call, 0);
  fill(all, ranks, call);
  OK(MPI_Ialltoall(out, count, one, in, count, one, comm, &request));
  complete(&request);
  check(all, ranks, call, 0);
  fill(all, ranks, call);
  memcpy(in, out, sizeof in);
  OK(MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, count, one, comm));
  check(all, ranks, call, 0);
  in_place_by_counts(comm, all, call);
  /* Blocks from and to even ranks are empty where both are of the one rule: to a rank k of even number from all. */
  for (int empty = 0; empty < 2; ++empty) {
    side s = make_side(out, ranks, empty), r = make_side(in, ranks, empty);
    if (empty) { /* what is sent to even ranks is nothing, and even ranks receive nothing */
      for (int k = 0; k < ranks; ++k) {
        const int none = rank % 2 == 0;
        r.counts[k] = none ? 0 : s.counts[1 % ranks];
        r.types[k] = none && differs && is("null_types") ? MPI_DATATYPE_NULL : s.types[1 % ranks];
      }
    }
    const MPI_Datatype t = differs && is("types") ? pair_of_ints : MPI_INT;
    side sv = s, rv = r;
    for (int k = 0; k < ranks && differs && is("types"); ++k) sv.at[k] = rv.at[k] = k;
    for (int how = 0; how < 4; ++how) {
      fill(all, ranks, call);
      if (how == 0)
        OK(MPI_Alltoallv(out, sv.counts, sv.at, t, in, rv.counts, rv.at, t, comm));
      else if (how == 1)
        OK(MPI_Ialltoallv(out, sv.counts, sv.at, t, in, rv.counts, rv.at, t, comm, &request));
      else if (how == 2)
        OK(MPI_Alltoallw(out, s.counts, s.bytes_at, s.types, in, r.counts, r.bytes_at, r.types, comm));
      else
        OK(MPI_Ialltoallw(out, s.counts, s.bytes_at, s.types, in, r.counts, r.bytes_at, r.types, comm, &request));
      if (how % 2 == 1) complete(&request);
      for (int k = 0; k < ranks; ++k)
        for (int i = 0; i < block; ++i)
          CHECK(in[k * block + i] == (empty && rank % 2 == 0 ? -1 : value(k, rank, call, i)));
    }
  }
}

static void among_neighbours(MPI_Comm ring, int call) {
  const int peers[2] = {(rank + ranks - 1) % ranks, (rank + 1) % ranks};
  const int n = ranks > 2 ? 2 : 1;
  const MPI_Datatype one = differs && is("types") ? pair_of_ints : MPI_INT;
  const int count = differs && is("types") ? 1 : block;
  MPI_Request request;
  for (int how = 0; how < 8; ++how) {
    const int empty = how >= 6;
    side s = make_side(out, n, 0), r = make_side(in, n, 0);
    if (empty)
      for (int k = 0; k < n; ++k) {
        s.counts[k] = r.counts[k] = 0;
        s.types[k] = r.types[k] = differs && is("null_types") ? MPI_DATATYPE_NULL : MPI_INT;
      }
    side sv = s, rv = r;
    for (int k = 0; k < n && differs && is("types"); ++k) sv.at[k] = rv.at[k] = k;
    fill(peers, n, call);
    void *const from = differs && is("addresses") ? MPI_BOTTOM : (void *)out;
    void *const to = differs && is("addresses") ? MPI_BOTTOM : (void *)in;
    if (how == 0) OK(MPI_Neighbor_alltoall(out, count, one, in, count, one, ring));
    if (how == 1) OK(MPI_Ineighbor_alltoall(out, count, one, in, count, one, ring, &request));
    if (how == 2) OK(MPI_Neighbor_alltoallv(out, sv.counts, sv.at, one, in, rv.counts, rv.at, one, ring));
    if (how == 3) OK(MPI_Ineighbor_alltoallv(out, sv.counts, sv.at, one, in, rv.counts, rv.at, one, ring, &request));
    if (how == 4 || how == 6)
      OK(MPI_Neighbor_alltoallw(from, s.counts, s.addresses, s.types, to, r.counts, r.addresses, r.types, ring));
    if (how == 5 || how == 7)
      OK(MPI_Ineighbor_alltoallw(from, s.counts, s.addresses, s.types, to, r.counts, r.addresses, r.types, ring,
                                 &request));
    if (how % 2 == 1) complete(&request);
    if (!empty) check(peers, n, call, 0);
  }
}

#if MPI_VERSION >= 4
enum { persistent_forms = 6 };
static void make_persistent(MPI_Comm all, MPI_Comm ring, MPI_Request requests[]) {
  OK(MPI_Alltoall_init(out, block, MPI_INT, in, block, MPI_INT, all, MPI_INFO_NULL, &requests[0]));
  static side s, r;
  s = make_side(out, ranks, 0), r = make_side(in, ranks, 0);
  static int counts[most_ranks]; /* those of `s` may be of other types */
  for (int k = 0; k < ranks; ++k) counts[k] = block;
  OK(MPI_Alltoallv_init(out, counts, s.at, MPI_INT, in, counts, s.at, MPI_INT, all, MPI_INFO_NULL, &requests[1]));
  OK(MPI_Alltoallw_init(out, s.counts, s.bytes_at, s.types, in, r.counts, r.bytes_at, r.types, all, MPI_INFO_NULL,
                        &requests[2]));
  OK(MPI_Neighbor_alltoall_init(out, block, MPI_INT, in, block, MPI_INT, ring, MPI_INFO_NULL, &requests[3]));
  OK(MPI_Neighbor_alltoallv_init(out, counts, s.at, MPI_INT, in, counts, s.at, MPI_INT, ring, MPI_INFO_NULL,
                                 &requests[4]));
  static side to, from;
  to = make_side(out, ranks > 2 ? 2 : 1, 0), from = make_side(in, ranks > 2 ? 2 : 1, 0);
  const int absolute = differs && is("addresses");
  OK(MPI_Neighbor_alltoallw_init(absolute ? MPI_BOTTOM : (void *)out, to.counts, to.addresses, to.types,
                                 absolute ? MPI_BOTTOM : (void *)in, from.counts, from.addresses, from.types, ring,
                                 MPI_INFO_NULL, &requests[5]));
}
#else
enum { persistent_forms = 0 };
static void make_persistent(MPI_Comm all, MPI_Comm ring, MPI_Request requests[]) {
  (void)all, (void)ring, (void)requests;
}
#endif

/* A start waits for no rank: this rank starts many before another, which waits for its message, starts the first. */
static void ahead(MPI_Comm comm, MPI_Comm ring) {
  enum { starts = 60 };
  static int many_out[starts][most_ranks], many_in[starts][most_ranks];
  int counts[most_ranks], at[most_ranks], token = 0;
  const int n = ranks > 2 ? 2 : 1;
  for (int k = 0; k < ranks; ++k) counts[k] = 1, at[k] = k;
  for (int form = 0; form < 3; ++form) {
    MPI_Request requests[starts];
    MPI_Status statuses[starts];
    if (rank != odd_rank) OK(MPI_Recv(&token, 1, MPI_INT, odd_rank, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int i = 0; i < starts; ++i) {
      for (int k = 0; k < ranks; ++k) many_out[i][k] = value(rank, form == 2 ? 0 : k, i, form);
      if (form == 0) OK(MPI_Ialltoall(many_out[i], 1, MPI_INT, many_in[i], 1, MPI_INT, comm, &requests[i]));
      if (form == 1)
        OK(MPI_Ialltoallv(many_out[i], counts, at, MPI_INT, many_in[i], counts, at, MPI_INT, comm, &requests[i]));
      if (form == 2) OK(MPI_Ineighbor_alltoall(many_out[i], 1, MPI_INT, many_in[i], 1, MPI_INT, ring, &requests[i]));
    }
    for (int k = 0; rank == odd_rank && k < ranks; ++k)
      if (k != rank) OK(MPI_Send(&token, 1, MPI_INT, k, 7, MPI_COMM_WORLD));
    OK(MPI_Waitall(starts, requests, statuses));
    for (int i = 0; i < starts; ++i) {
      if (form < 2)
        for (int k = 0; k < ranks; ++k) CHECK(many_in[i][k] == value(k, rank, i, form));
      else
        for (int k = 0; k < n; ++k)
          CHECK(many_in[i][k] == value(k == 0 ? (rank + ranks - 1) % ranks : (rank + 1) % ranks, 0, i, form));
    }
  }
}

typedef struct {
  MPI_Comm all, ring;
  MPI_Request requests[persistent_forms + 1];
} group;

/* Collective. Sets this process's rank. */
static group make_group(MPI_Comm comm) {
  group g;
  OK(MPI_Comm_rank(comm, &rank));
  OK(MPI_Comm_size(comm, &ranks));
  const int peers[2] = {(rank + ranks - 1) % ranks, (rank + 1) % ranks}, weights[2] = {1, 1};
  const int n = ranks > 2 ? 2 : 1;
  OK(MPI_Dist_graph_create_adjacent(comm, n, peers, weights, n, peers, weights, MPI_INFO_NULL, 0, &g.ring));
  OK(MPI_Comm_dup(comm, &g.all));
  make_persistent(g.all, g.ring, g.requests);
  return g;
}

static void free_group(group *g) {
  for (int i = 0; i < persistent_forms; ++i) OK(MPI_Request_free(&g->requests[i]));
  OK(MPI_Comm_free(&g->all));
  OK(MPI_Comm_free(&g->ring));
}

static void every_form(group *g, int round) {
  const int peers[2] = {(rank + ranks - 1) % ranks, (rank + 1) % ranks};
  int everyone[most_ranks];
  for (int k = 0; k < ranks; ++k) everyone[k] = k;
  among_all(g->all, round);
  among_neighbours(g->ring, round);
  for (int i = 0; i < persistent_forms; ++i) {
    const int n = i >= 3 ? (ranks > 2 ? 2 : 1) : ranks;
    fill(i >= 3 ? peers : everyone, n, round);
    OK(MPI_Start(&g->requests[i]));
    complete(&g->requests[i]);
    check(i >= 3 ? peers : everyone, n, round, 0);
  }
}

/* Processes of two jobs in one communicator: this job, and one that it spawns, with the library and the same settings,
   with other settings, with which it serves from the first call on, or without the library. */
static void merge_with_spawned(const char *program, const char *when) {
  MPI_Comm both, merged;
  char preload[4096] = "-uLD_PRELOAD", setting[64] = "NONE=";
  OK(MPI_Comm_get_parent(&both));
  const int spawned = both != MPI_COMM_NULL, own_rank = rank, own_ranks = ranks, with = !is("spawned_without");
  if (spawned) CHECK((getenv("LD_PRELOAD") != NULL) == with);
  if (with) snprintf(preload, sizeof preload, "LD_PRELOAD=%s", getenv("LD_PRELOAD"));
  if (is("spawned_otherwise")) snprintf(setting, sizeof setting, "TAQUIN_CHECK=1");
  char *arguments[] = {preload, setting, (char *)program, (char *)thing, (char *)when, NULL};
  if (!spawned) OK(MPI_Comm_spawn("env", arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &both, MPI_ERRCODES_IGNORE));
  OK(MPI_Intercomm_merge(both, spawned, &merged));
  group g = make_group(merged);
  for (int round = 0; round < rounds; ++round) every_form(&g, round);
  free_group(&g);
  OK(MPI_Comm_free(&merged));
  OK(MPI_Comm_disconnect(&both));
  rank = own_rank, ranks = own_ranks;
}

/* The MPI library allocates what its connections need while there is memory. */
static void connect(MPI_Comm comm) {
  int got = 0;
  for (int by = 1; by < ranks; ++by)
    OK(MPI_Sendrecv(&rank, 1, MPI_INT, (rank + by) % ranks, 1, &got, 1, MPI_INT, (rank + ranks - by) % ranks, 1, comm,
                    MPI_STATUS_IGNORE));
}

int main(int argc, char **argv) {
  thing = argv[1];
  const int when = atoi(argv[2]);
  runtime = argc > 3 ? argv[3] : "";
  const char *const number = getenv("OMPI_COMM_WORLD_RANK") ? getenv("OMPI_COMM_WORLD_RANK") : getenv("PMI_RANK");
  const int odd = number != NULL && atoi(number) == odd_rank;
  const int merges = is("spawned") || is("spawned_otherwise") || is("spawned_without");
  const int later = is("ahead") || is("space") || merges; /* MPI_Init needs more space than is left */
  if (odd && when == 0 && !later) begin_to_differ();
  int level = 0;
  OK(MPI_Init_thread(&argc, &argv, odd && is("threads") ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level));
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  OK(MPI_Type_contiguous(block, MPI_INT, &pair_of_ints));
  OK(MPI_Type_commit(&pair_of_ints));
  group world = make_group(MPI_COMM_WORLD);
  if (is("space")) connect(world.all), connect(world.ring);
  for (int round = 0; round < rounds; ++round) {
    if (round == when && (when > 0 || later)) {
      if (is("ahead"))
        ahead(world.all, world.ring);
      else if (merges)
        merge_with_spawned(argv[0], argv[2]);
      else if (odd)
        begin_to_differ();
    }
    every_form(&world, round);
  }
  if (differs && is("space")) CHECK(shared_parts() <= most_parts);
#if defined(OPEN_MPI) || defined(MPICH) /* where taquin does some of the first starts, to measure them */
  if (differs && is("device") && when <= 1 && getenv("TAQUIN_NODES") == NULL) CHECK(brought_to_device > 0);
#endif
  free_group(&world);
  OK(MPI_Type_free(&pair_of_ints));
  return MPI_Finalize();
}

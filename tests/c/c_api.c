/* The C API from C99: results, options, plans, errors. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "problem.h"
#include "taquin/taquin.h"

static void blocking_calls_give_the_right_result(MPI_Comm comm) {
  struct problem x;
  int i;
  int *send = array(sizeof(int)), *recv = array(sizeof(int));
  make(&x);
  clear(&x);
  CHECK_OK(TAQUIN_Alltoallv(x.send, x.sc, x.sd, MPI_INT, x.recv, x.rc, x.rd, MPI_INT, comm));
  CHECK(right(&x));
  clear(&x);
  CHECK_OK(TAQUIN_Alltoallv_c(x.send, x.wide_sc, x.wide_sd, MPI_INT, x.recv, x.wide_rc, x.wide_rd, MPI_INT, comm));
  CHECK(right(&x));
  clear(&x);
  CHECK_OK(TAQUIN_Alltoallw(x.send, x.sc, x.byte_sd, x.types, x.recv, x.rc, x.byte_rd, x.types, comm));
  CHECK(right(&x));
  clear(&x);
  CHECK_OK(
      TAQUIN_Alltoallw_c(x.send, x.wide_sc, x.wide_byte_sd, x.types, x.recv, x.wide_rc, x.wide_byte_rd, x.types, comm));
  CHECK(right(&x));
  release(&x);

  for (i = 0; i < ranks; ++i) send[i] = value_of(rank, i, 0), recv[i] = guard;
  CHECK_OK(TAQUIN_Alltoall(send, 1, MPI_INT, recv, 1, MPI_INT, comm));
  for (i = 0; i < ranks; ++i) CHECK(recv[i] == value_of(i, rank, 0));
  CHECK_OK(TAQUIN_Alltoall_c(send, 1, MPI_INT, recv, (MPI_Count)sizeof(int), MPI_BYTE, comm));
  for (i = 0; i < ranks; ++i) CHECK(recv[i] == value_of(i, rank, 0));
  CHECK_OK(TAQUIN_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, send, 1, MPI_INT, comm));
  for (i = 0; i < ranks; ++i) CHECK(send[i] == value_of(i, rank, 0));
  free(send), free(recv);
}

static void run_twice(TAQUIN_Plan plan, struct problem *x) {
  int k, done;
  for (k = 0; k < 2; ++k) {
    clear(x);
    CHECK_OK(TAQUIN_Start(plan));
    CHECK(class_of(TAQUIN_Start(plan)) == MPI_ERR_REQUEST);
    if (k == 0) {
      CHECK_OK(TAQUIN_Wait(plan));
    } else {
      for (done = 0; !done;) CHECK_OK(TAQUIN_Test(plan, &done));
    }
    CHECK(right(x));
  }
}

static void plans_run_again(MPI_Comm comm) {
  /* Key, value, what the error says. */
  static const char *const wrong[][3] = {{"taquin_memory", "plenty", "taquin_memory"},
                                         {"taquin_memory", "64X", "such as 65536, 64K"},
                                         {"taquin_memry", "64K", "known are taquin_algorithm, taquin_memory"},
                                         {"taquin_layout", "loose", "taquin_layout"},
                                         {"taquin_layout", "6", "layout must be between 0 and 5, got 6"},
                                         {"taquin_nodes", "1,", "taquin_nodes"},
                                         {"taquin_ports", "31", "ports must be between 0 and 30, got 31"},
                                         {"taquin_timeout", "-1", "timeout"},
                                         {"taquin_radix", "1", "radix must be"},
                                         {"taquin_aux_parts", "-1", "aux_parts must be"}};
  char one_node[16];
  size_t bytes = TAQUIN_UNLIMITED;
  struct problem x;
  int i, k, done = 0;
  int *send = array(sizeof(int)), *recv = array(sizeof(int));
  TAQUIN_Plan plan;
  MPI_Info info;
  sprintf(one_node, "%d", ranks);
  make(&x);
  CHECK_OK(TAQUIN_Alltoallv_init(x.send, x.sc, x.sd, MPI_INT, x.recv, x.rc, x.rd, MPI_INT, comm, MPI_INFO_NULL, &plan));
  run_twice(plan, &x);
  CHECK_OK(TAQUIN_Plan_memory(plan, &bytes));
  CHECK(bytes <= TAQUIN_UNLIMITED / 2);
  CHECK(class_of(TAQUIN_Plan_memory(plan, NULL)) == MPI_ERR_ARG);
  CHECK(class_of(TAQUIN_Plan_memory(TAQUIN_PLAN_NULL, &bytes)) == MPI_ERR_REQUEST);
  CHECK_OK(TAQUIN_Plan_free(&plan));
  CHECK(plan == TAQUIN_PLAN_NULL);
  CHECK_OK(TAQUIN_Alltoallv_init_c(x.send, x.wide_sc, x.wide_sd, MPI_INT, x.recv, x.wide_rc, x.wide_rd, MPI_INT, comm,
                                   MPI_INFO_NULL, &plan));
  run_twice(plan, &x);
  CHECK_OK(TAQUIN_Plan_free(&plan));
  CHECK_OK(TAQUIN_Alltoallw_init(x.send, x.sc, x.byte_sd, x.types, x.recv, x.rc, x.byte_rd, x.types, comm,
                                 MPI_INFO_NULL, &plan));
  run_twice(plan, &x);
  CHECK_OK(TAQUIN_Plan_free(&plan));

  MPI_Info_create(&info);
  MPI_Info_set(info, "taquin_algorithm", "pairwise");
  MPI_Info_set(info, "taquin_in_flight", "1");
  MPI_Info_set(info, "taquin_layout", "packed"); /* or its number */
  MPI_Info_set(info, "taquin_nodes", one_node);
  MPI_Info_set(info, "taquin_inner", "pairwise");
  MPI_Info_set(info, "taquin_levels", "one_factor,bruck_v");
  CHECK_OK(TAQUIN_Alltoallw_init_c(x.send, x.wide_sc, x.wide_byte_sd, x.types, x.recv, x.wide_rc, x.wide_byte_rd,
                                   x.types, comm, info, &plan));
  run_twice(plan, &x);
  CHECK_OK(TAQUIN_Plan_free(&plan));
  MPI_Info_set(info, "taquin_algorithm", "auto");
  MPI_Info_set(info, "taquin_layout", "5");
  MPI_Info_set(info, "taquin_tune", "1");
  MPI_Info_set(info, "taquin_memory", "64K");
  MPI_Info_set(info, "somebody_else", "1");
  CHECK_OK(TAQUIN_Alltoallv_init(x.send, x.sc, x.sd, MPI_INT, x.recv, x.rc, x.rd, MPI_INT, comm, info, &plan));
  for (i = 0; i < 8; ++i) run_twice(plan, &x);
  CHECK_OK(TAQUIN_Plan_free(&plan));
  MPI_Info_free(&info);
  for (i = 0; i < (int)(sizeof wrong / sizeof wrong[0]); ++i) { /* refused, on every rank */
    MPI_Info_create(&info);
    MPI_Info_set(info, wrong[i][0], wrong[i][1]);
    CHECK(class_of(TAQUIN_Alltoallv_init(x.send, x.sc, x.sd, MPI_INT, x.recv, x.rc, x.rd, MPI_INT, comm, info,
                                         &plan)) == MPI_ERR_ARG);
    CHECK(plan == TAQUIN_PLAN_NULL);
    CHECK(strstr(TAQUIN_Last_error(), wrong[i][2]) != NULL);
    MPI_Info_free(&info);
  }
  release(&x);

  CHECK_OK(TAQUIN_Alltoall_init(send, 1, MPI_INT, recv, 1, MPI_INT, comm, MPI_INFO_NULL, &plan));
  CHECK_OK(TAQUIN_Test(plan, &done));
  CHECK(done == 1);
  for (k = 0; k < 3; ++k) {
    for (i = 0; i < ranks; ++i) send[i] = value_of(rank, i, k), recv[i] = guard;
    CHECK_OK(TAQUIN_Start(plan));
    CHECK_OK(TAQUIN_Wait(plan));
    for (i = 0; i < ranks; ++i) CHECK(recv[i] == value_of(i, rank, k));
  }
  CHECK_OK(TAQUIN_Plan_free(&plan));
  free(send), free(recv);
}

static void one_buffer_serves_both_sides(MPI_Comm comm) {
  struct problem x;
  TAQUIN_Plan plan;
  int turn, i, j, *buffer;
  size_t size;
  make(&x);
  size = (size_t)(x.sd[ranks - 1] + x.sc[ranks - 1] + x.recv_length) * sizeof(int);
  buffer = malloc(size);
  if (buffer == NULL) MPI_Abort(MPI_COMM_WORLD, 2);
  for (turn = 0; turn < 4; ++turn) {
    memset(buffer, 0, size);
    memcpy(buffer, x.send, (size_t)(x.sd[ranks - 1] + x.sc[ranks - 1]) * sizeof(int));
    if (turn == 0) {
      CHECK_OK(TAQUIN_Alltoallv_in_place(buffer, x.sc, x.sd, x.rc, x.rd, MPI_INT, comm));
    } else if (turn == 1) {
      CHECK_OK(TAQUIN_Alltoallv_in_place_c(buffer, x.wide_sc, x.wide_sd, x.wide_rc, x.wide_rd, MPI_INT, comm));
    } else {
      if (turn == 2)
        CHECK_OK(TAQUIN_Alltoallv_in_place_init(buffer, x.sc, x.sd, x.rc, x.rd, MPI_INT, comm, MPI_INFO_NULL, &plan));
      else
        CHECK_OK(TAQUIN_Alltoallv_in_place_init_c(buffer, x.wide_sc, x.wide_sd, x.wide_rc, x.wide_rd, MPI_INT, comm,
                                                  MPI_INFO_NULL, &plan));
      CHECK_OK(TAQUIN_Start(plan));
      CHECK_OK(TAQUIN_Wait(plan));
      CHECK_OK(TAQUIN_Plan_free(&plan));
    }
    for (i = 0; i < ranks; ++i)
      for (j = 0; j < x.rc[i]; ++j) CHECK(buffer[x.rd[i] + j] == value_of(i, rank, j));
  }
  free(buffer);
  release(&x);
}

static void options_belong_to_the_communicator(MPI_Comm world) {
  TAQUIN_Options o = TAQUIN_OPTIONS_INIT, back = TAQUIN_OPTIONS_INIT;
  MPI_Comm comm, copy;
  char name[] = "pairwise";
  MPI_Comm_dup(world, &comm);
  o.algorithm = name;
  o.memory = 1 << 20;
  o.in_flight = 3;
  o.layout = TAQUIN_LAYOUT_PACKED;
  o.inner = "pairwise";
  o.levels = "one_factor,bruck_v";
  o.ports = 1;
  o.node_count = 1;
  o.nodes = &ranks;
  o.check = 1;
  o.tune = 1;
  o.scratch_sends = 1;
  o.aux_parts = 2;
  o.aux_heap = 1;
  o.sparse_requests = 1;
  o.leaders = 2;
  CHECK_OK(TAQUIN_Comm_set_options(comm, &o));
  name[0] = 'X'; /* the string was copied */
  MPI_Comm_dup(comm, &copy);
  CHECK_OK(TAQUIN_Comm_set_options(comm, NULL));
  CHECK_OK(TAQUIN_Comm_get_options(comm, &back));
  CHECK(strcmp(back.algorithm, "auto") == 0 && back.memory == TAQUIN_UNLIMITED && back.check == 0 && back.tune == 0 &&
        back.scratch_sends == 0);
  CHECK(back.layout == TAQUIN_LAYOUT_AUTOMATIC && strcmp(back.inner, "spread_out") == 0 &&
        strcmp(back.levels, "bruck_v,spread_out") == 0);
  CHECK_OK(TAQUIN_Comm_get_options(copy, &back));
  CHECK(strcmp(back.algorithm, "pairwise") == 0 && back.memory == 1 << 20 && back.in_flight == 3 && back.check == 1 &&
        back.tune == 1 && back.scratch_sends == 1);
  CHECK(back.layout == TAQUIN_LAYOUT_PACKED && strcmp(back.inner, "pairwise") == 0 &&
        strcmp(back.levels, "one_factor,bruck_v") == 0);
  CHECK(back.aux_parts == 2 && back.aux_heap == 1 && back.sparse_requests == 1 && back.leaders == 2);
  CHECK(back.ports == 1 && back.node_count == 1 && back.nodes != &ranks && back.nodes[0] == ranks);
  blocking_calls_give_the_right_result(comm);

  /* A caller that knows only the first fields. */
  o.size = offsetof(TAQUIN_Options, radix);
  o.algorithm = "native";
  o.radix = -1;
  CHECK_OK(TAQUIN_Comm_set_options(copy, &o));
  CHECK_OK(TAQUIN_Comm_get_options(copy, &back));
  CHECK(strcmp(back.algorithm, "native") == 0 && back.radix == 0);
  blocking_calls_give_the_right_result(copy);
  o.size = sizeof o;
  o.layout = 77;
  CHECK(class_of(TAQUIN_Comm_set_options(copy, &o)) == MPI_ERR_ARG);
  o.size = 0;
  CHECK(class_of(TAQUIN_Comm_set_options(copy, &o)) == MPI_ERR_ARG);
  MPI_Comm_free(&comm);
  MPI_Comm_free(&copy);
}

static int handler_calls, handler_code;
static void handler(MPI_Comm *comm, int *code, ...) {
  (void)comm;
  ++handler_calls;
  handler_code = *code;
}

/* Each of these is wrong on one rank only; all ranks get the error and no rank's buffer is touched. */
static void errors_reach_every_rank(MPI_Comm world) {
  struct problem x;
  TAQUIN_Options o = TAQUIN_OPTIONS_INIT;
  MPI_Comm comm;
  MPI_Errhandler own;
  const int bad = ranks - 1;
  int code;
  MPI_Comm_dup(world, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  make(&x);
  clear(&x);
  if (rank == bad) x.sc[0] = -1;
  code = TAQUIN_Alltoallv(x.send, x.sc, x.sd, MPI_INT, x.recv, x.rc, x.rd, MPI_INT, comm);
  CHECK(class_of(code) == MPI_ERR_COUNT);
  CHECK(strstr(TAQUIN_Last_error(), "negative send count -1") != NULL);
  x.sc[0] = count_of(rank, 0);
  code = TAQUIN_Alltoallv(rank == bad ? NULL : x.send, x.sc, x.sd, MPI_INT, x.recv, x.rc, x.rd, MPI_INT, comm);
  CHECK(class_of(code) == MPI_ERR_BUFFER);
  code = TAQUIN_Alltoallv(x.send, x.sc, x.sd, MPI_INT, x.recv, rank == bad ? NULL : x.rc, x.rd, MPI_INT, comm);
  CHECK(class_of(code) == MPI_ERR_ARG);
  code =
      TAQUIN_Alltoallw(x.send, x.sc, x.byte_sd, rank == bad ? NULL : x.types, x.recv, x.rc, x.byte_rd, x.types, comm);
  CHECK(class_of(code) == MPI_ERR_ARG);
  if (rank == bad) x.types[0] = MPI_DATATYPE_NULL;
  code = TAQUIN_Alltoallw(x.send, x.sc, x.byte_sd, x.types, x.recv, x.rc, x.byte_rd, x.types, comm);
  CHECK(class_of(code) == MPI_ERR_TYPE);
  x.types[0] = MPI_INT;
  if (ranks > 1) {
    if (rank == bad) x.rd[1] = x.rd[0];
    code = TAQUIN_Alltoallv(x.send, x.sc, x.sd, MPI_INT, x.recv, x.rc, x.rd, MPI_INT, comm);
    CHECK(class_of(code) == MPI_ERR_BUFFER);
    CHECK(strstr(TAQUIN_Last_error(), "overlap") != NULL);
    if (rank == bad) x.rd[1] = (int)x.wide_rd[1];
  }

  o.check = 1;
  o.tune = 1;
  CHECK_OK(TAQUIN_Comm_set_options(comm, &o));
  if (rank == bad) --x.rc[0];
  code = TAQUIN_Alltoallv(x.send, x.sc, x.sd, MPI_INT, x.recv, x.rc, x.rd, MPI_INT, comm);
  CHECK(class_of(code) == MPI_ERR_TRUNCATE);
  CHECK(strstr(TAQUIN_Last_error(), "rank 0 sends") != NULL);
  if (rank == bad) ++x.rc[0];
  o.check = 0;

  o.algorithm = "magic";
  CHECK_OK(TAQUIN_Comm_set_options(comm, &o));
  code = TAQUIN_Alltoallv(x.send, x.sc, x.sd, MPI_INT, x.recv, x.rc, x.rd, MPI_INT, comm);
  CHECK(class_of(code) == MPI_ERR_ARG);
  CHECK(strstr(TAQUIN_Last_error(), "unknown algorithm 'magic'") != NULL);
  CHECK(strstr(TAQUIN_Last_error(), "pairwise") != NULL);
  o.algorithm = "pairwise";
  o.memory = rank == bad ? 1 : TAQUIN_UNLIMITED; /* the smallest limit rules */
  CHECK_OK(TAQUIN_Comm_set_options(comm, &o));
  code = TAQUIN_Alltoallv(x.send, x.sc, x.sd, MPI_INT, x.recv, x.rc, x.rd, MPI_INT, comm);
  CHECK(class_of(code) == MPI_ERR_NO_MEM);
  CHECK(untouched(&x));

  /* An error handler of the user's is called with the code, once; afterwards the communicator is as good as new. */
  MPI_Comm_create_errhandler(handler, &own);
  MPI_Comm_set_errhandler(comm, own);
  code = TAQUIN_Alltoallv(x.send, x.sc, x.sd, MPI_INT, x.recv, x.rc, x.rd, MPI_INT, comm);
  CHECK(handler_calls == 1 && class_of(handler_code) == MPI_ERR_NO_MEM && code == handler_code);
  CHECK_OK(TAQUIN_Comm_set_options(comm, NULL));
  CHECK_OK(TAQUIN_Alltoallv(x.send, x.sc, x.sd, MPI_INT, x.recv, x.rc, x.rd, MPI_INT, comm));
  CHECK(right(&x));
  CHECK(handler_calls == 1);
  MPI_Errhandler_free(&own);
  MPI_Comm_free(&comm);
  release(&x);
}

static void null_handles_are_errors(void) {
  TAQUIN_Plan plan = TAQUIN_PLAN_NULL;
  int a = 0, b = 0, done;
  CHECK(class_of(TAQUIN_Alltoall(&a, 1, MPI_INT, &b, 1, MPI_INT, MPI_COMM_NULL)) == MPI_ERR_COMM);
  CHECK(class_of(TAQUIN_Comm_set_options(MPI_COMM_NULL, NULL)) == MPI_ERR_COMM);
  CHECK(class_of(TAQUIN_Start(plan)) == MPI_ERR_REQUEST);
  CHECK(class_of(TAQUIN_Test(plan, &done)) == MPI_ERR_REQUEST);
  CHECK(class_of(TAQUIN_Wait(plan)) == MPI_ERR_REQUEST);
  CHECK(class_of(TAQUIN_Plan_free(&plan)) == MPI_ERR_REQUEST);
  CHECK(class_of(TAQUIN_Plan_free(NULL)) == MPI_ERR_REQUEST);
}

int main(int argc, char **argv) {
  int all = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc > 1 && strcmp(argv[1], "fatal") == 0) {
    TAQUIN_Alltoall(NULL, 1, MPI_INT, NULL, 1, MPI_INT, MPI_COMM_WORLD);
    printf("survived\n");
    MPI_Finalize();
    return 0;
  }
  CHECK(TAQUIN_Last_error()[0] == '\0');
  blocking_calls_give_the_right_result(MPI_COMM_WORLD);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  plans_run_again(MPI_COMM_WORLD);
  one_buffer_serves_both_sides(MPI_COMM_WORLD);
  options_belong_to_the_communicator(MPI_COMM_WORLD);
  errors_reach_every_rank(MPI_COMM_WORLD);
  null_handles_are_errors();
  MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return all == 0 ? 0 : 1;
}

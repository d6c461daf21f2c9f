/* Handles and calls that are out of place: before MPI_Init, after MPI_Finalize, null, after their communicator was
   freed, with a datatype that was not committed. Each is an error code with a text that says what was called. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "check.h"

static int word_of_rank(const char *function, const char *what) {
  return strstr(TAQUIN_Last_error(), function) != NULL && strstr(TAQUIN_Last_error(), what) != NULL;
}

static void calls_without_mpi_are_errors(const char *why, TAQUIN_Plan plan) {
  int a[64] = {0}, b[64] = {0}, flag = 0;
  TAQUIN_Options options = TAQUIN_OPTIONS_INIT;
  CHECK(TAQUIN_Alltoall(a, 1, MPI_INT, b, 1, MPI_INT, MPI_COMM_WORLD) != MPI_SUCCESS);
  CHECK(word_of_rank("TAQUIN_Alltoall", why));
  CHECK(TAQUIN_Comm_set_options(MPI_COMM_WORLD, &options) != MPI_SUCCESS);
  CHECK(word_of_rank("TAQUIN_Comm_set_options", why));
  TAQUIN_Plan made = TAQUIN_PLAN_NULL;
  CHECK(TAQUIN_Alltoall_init(a, 1, MPI_INT, b, 1, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, &made) != MPI_SUCCESS);
  CHECK(word_of_rank("TAQUIN_Alltoall_init", why));
  CHECK(TAQUIN_Start(plan) != MPI_SUCCESS);
  CHECK(word_of_rank("TAQUIN_Start", why));
  CHECK(TAQUIN_Test(plan, &flag) != MPI_SUCCESS);
  CHECK(word_of_rank("TAQUIN_Test", why));
}

/* Under the default handler, which would end the program. */
static void freeing_null_handles_is_an_error(void) {
  TAQUIN_Plan plan = TAQUIN_PLAN_NULL;
  TAQUIN_Redistribution redistribution = TAQUIN_REDISTRIBUTION_NULL;
  TAQUIN_Sparse sparse = TAQUIN_SPARSE_NULL;
  CHECK(TAQUIN_Plan_free(&plan) != MPI_SUCCESS && TAQUIN_Plan_free(NULL) != MPI_SUCCESS);
  CHECK(word_of_rank("TAQUIN_Plan_free", "null plan"));
  CHECK(TAQUIN_Redistribution_free(&redistribution) != MPI_SUCCESS && TAQUIN_Redistribution_free(NULL) != MPI_SUCCESS);
  CHECK(word_of_rank("TAQUIN_Redistribution_free", "null redistribution"));
  CHECK(TAQUIN_Sparse_end(&sparse) != MPI_SUCCESS && TAQUIN_Sparse_end(NULL) != MPI_SUCCESS);
  CHECK(word_of_rank("TAQUIN_Sparse_end", "null sparse exchange"));
}

static void freeing_null_layouts_is_an_error(void) {
  TAQUIN_Layout layout = TAQUIN_LAYOUT_NULL;
  TAQUIN_Layout_plan plan = TAQUIN_LAYOUT_PLAN_NULL;
  CHECK(TAQUIN_Layout_free(&layout) != MPI_SUCCESS && TAQUIN_Layout_free(NULL) != MPI_SUCCESS);
  CHECK(word_of_rank("TAQUIN_Layout_free", "null layout"));
  CHECK(TAQUIN_Redistribute_layout_free(&plan) != MPI_SUCCESS && TAQUIN_Redistribute_layout_free(NULL) != MPI_SUCCESS);
  CHECK(word_of_rank("TAQUIN_Redistribute_layout_free", "null plan"));
}

static int handler_calls, handler_code;
static void handler(MPI_Comm *comm, int *code, ...) {
  (void)comm;
  ++handler_calls;
  handler_code = *code;
}

static void errors_outlive_the_communicator(void) {
  for (int own = 0; own < 2; ++own) {
    enum { blocks = 4 };
    int data[blocks] = {0, 1, 2, 3}, to[blocks], at[blocks];
    MPI_Comm comm;
    MPI_Errhandler mine = MPI_ERRORS_RETURN;
    TAQUIN_Redistribution r;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (own) MPI_Comm_create_errhandler(handler, &mine);
    MPI_Comm_set_errhandler(comm, mine);
    CHECK(TAQUIN_Redistribution_create(data, blocks, 1, MPI_INT, comm, NULL, TAQUIN_UNLIMITED, &r) == MPI_SUCCESS);
    MPI_Comm_free(&comm);
    if (own) MPI_Errhandler_free(&mine);
    for (int k = 0; k < blocks; ++k) to[k] = rank, at[k] = k;
    CHECK(TAQUIN_Redistribution_redistribute(r, blocks, to, at) == MPI_SUCCESS);
    handler_calls = 0;
    to[0] = ranks + 1; /* no such rank: an error on all */
    const int code = TAQUIN_Redistribution_redistribute(r, blocks, to, at);
    CHECK(code != MPI_SUCCESS);
    CHECK(!own || (handler_calls == 1 && handler_code == code));
    CHECK(TAQUIN_Redistribution_free(&r) == MPI_SUCCESS && r == TAQUIN_REDISTRIBUTION_NULL);
  }
}

static void errors_of_layout_plans_outlive_the_communicator(void) {
  const MPI_Count extent[1] = {64};
  int a[64] = {0}, b[64] = {0};
  MPI_Comm comm;
  MPI_Errhandler mine;
  TAQUIN_Layout layout;
  TAQUIN_Layout_plan plan;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_create_errhandler(handler, &mine);
  MPI_Comm_set_errhandler(comm, mine);
  CHECK(TAQUIN_Layout_create(1, extent, NULL, &ranks, NULL, NULL, MPI_ORDER_C, &layout) == MPI_SUCCESS);
  CHECK(TAQUIN_Redistribute_layout_init(a, layout, b, layout, NULL, MPI_INT, comm, &plan) == MPI_SUCCESS);
  MPI_Comm_free(&comm);
  MPI_Errhandler_free(&mine);
  handler_calls = 0;
  CHECK(TAQUIN_Redistribute_layout_test(plan, NULL) != MPI_SUCCESS && handler_calls == 1);
  CHECK(TAQUIN_Redistribute_layout_start(plan) == MPI_SUCCESS && TAQUIN_Redistribute_layout_wait(plan) == MPI_SUCCESS);
  CHECK(TAQUIN_Redistribute_layout_free(&plan) == MPI_SUCCESS && TAQUIN_Layout_free(&layout) == MPI_SUCCESS);
}

#define CHECK_UNCOMMITTED(call)                                    \
  do {                                                             \
    CHECK(class_of(call) == MPI_ERR_TYPE);                         \
    CHECK(strstr(TAQUIN_Last_error(), "MPI_Type_commit") != NULL); \
  } while (0)

static void types_that_are_not_committed_are_an_error_of_all(MPI_Comm comm) {
  int a[128] = {0}, b[128] = {0};
  MPI_Datatype type;
  MPI_Type_contiguous(1, MPI_INT, &type);
  if (rank != ranks / 2) MPI_Type_commit(&type);
  CHECK(class_of(TAQUIN_Alltoall(a, 1, type, b, 1, type, comm)) == MPI_ERR_TYPE);
  CHECK(strstr(TAQUIN_Last_error(), "MPI_Type_commit") != NULL);
  TAQUIN_Redistribution r;
  CHECK(TAQUIN_Redistribution_create(a, 1, 1, type, comm, NULL, TAQUIN_UNLIMITED, &r) != MPI_SUCCESS);
  CHECK(strstr(TAQUIN_Last_error(), "MPI_Type_commit") != NULL);
  TAQUIN_Sparse sparse;
  int incoming = 0;
  MPI_Count elements = 0;
  CHECK(TAQUIN_Sparse_begin(a, 0, NULL, NULL, type, comm, &sparse, &incoming, &elements) != MPI_SUCCESS);
  CHECK(strstr(TAQUIN_Last_error(), "MPI_Type_commit") != NULL);
  const MPI_Count extent[1] = {64};
  TAQUIN_Layout layout;
  CHECK(TAQUIN_Layout_create(1, extent, NULL, &ranks, NULL, NULL, MPI_ORDER_C, &layout) == MPI_SUCCESS);
  CHECK(class_of(TAQUIN_Redistribute_layout(a, layout, b, layout, NULL, type, comm)) == MPI_ERR_TYPE);
  CHECK(strstr(TAQUIN_Last_error(), "MPI_Type_commit") != NULL);
  CHECK(TAQUIN_Layout_free(&layout) == MPI_SUCCESS);
  CHECK_UNCOMMITTED(TAQUIN_Permute(TAQUIN_RING, 1, a, b, 1, type, comm));
  CHECK_UNCOMMITTED(TAQUIN_Bcast(a, 1, type, 0, comm));
  CHECK_UNCOMMITTED(TAQUIN_Reduce(a, b, 1, type, MPI_SUM, 0, comm));
  CHECK_UNCOMMITTED(TAQUIN_Allreduce(a, b, 1, type, MPI_SUM, comm));
  CHECK_UNCOMMITTED(TAQUIN_Gather(a, b, 1, type, 0, comm));
  CHECK_UNCOMMITTED(TAQUIN_Allgather(a, b, 1, type, comm));
  CHECK_UNCOMMITTED(TAQUIN_Scatter(a, b, 1, type, 0, comm));
  CHECK_UNCOMMITTED(TAQUIN_Scan(a, b, 1, type, MPI_SUM, comm));
  CHECK_UNCOMMITTED(TAQUIN_Scan_elements(a, b, 1, type, MPI_SUM, comm));
  CHECK(TAQUIN_Sparse_begin(a, 0, NULL, NULL, MPI_INT, comm, &sparse, &incoming, &elements) == MPI_SUCCESS);
  CHECK_UNCOMMITTED(TAQUIN_Sparse_reply(sparse, a, type, b));
  CHECK(TAQUIN_Sparse_end(&sparse) == MPI_SUCCESS);
  MPI_Type_free(&type);
  MPI_Type_contiguous(1, MPI_INT, &type);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  CHECK_UNCOMMITTED(TAQUIN_Typed_copy(a, 1, type, b, 1, MPI_INT));
  CHECK_UNCOMMITTED(TAQUIN_Typed_copy(a, 1, MPI_INT, b, 1, type));
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Type_free(&type);
}

static void a_receive_buffer_in_place_is_reported(MPI_Comm comm) {
  int a[128] = {0};
  CHECK(class_of(TAQUIN_Alltoall(a, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, comm)) == MPI_ERR_BUFFER);
  CHECK(strstr(TAQUIN_Last_error(), "MPI_IN_PLACE as the receive buffer") != NULL);
}

/* The counts of a sparse exchange belong to its handle. */
static void statistics_may_be_set_anew(MPI_Comm comm) {
  const int to = (rank + 1) % ranks;
  const MPI_Count count = 100000;
  static int out[100000], in[100000];
  TAQUIN_Statistics counted = TAQUIN_STATISTICS_INIT;
  TAQUIN_Sparse sparse;
  int incoming = 0;
  MPI_Count elements = 0;
  for (int k = 0; k < count; ++k) out[k] = rank + k;
  CHECK(TAQUIN_Comm_set_statistics(comm, 1) == MPI_SUCCESS);
  CHECK(TAQUIN_Sparse_begin(out, 1, &to, &count, MPI_INT, comm, &sparse, &incoming, &elements) == MPI_SUCCESS);
  CHECK(TAQUIN_Comm_set_statistics(comm, 0) == MPI_SUCCESS && TAQUIN_Comm_set_statistics(comm, 1) == MPI_SUCCESS);
  CHECK(TAQUIN_Sparse_data(sparse, in) == MPI_SUCCESS);
  CHECK(TAQUIN_Sparse_end(&sparse) == MPI_SUCCESS);
  CHECK(in[7] == (rank + ranks - 1) % ranks + 7);
  CHECK(TAQUIN_Comm_get_statistics(comm, &counted) == MPI_SUCCESS && counted.starts == 0);
}

int main(int argc, char **argv) {
  int all = 0, a[64] = {0}, b[64] = {0};
  calls_without_mpi_are_errors("before MPI_Init", TAQUIN_PLAN_NULL);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  freeing_null_handles_is_an_error();
  freeing_null_layouts_is_an_error();
  errors_outlive_the_communicator();
  errors_of_layout_plans_outlive_the_communicator();
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  types_that_are_not_committed_are_an_error_of_all(comm);
  a_receive_buffer_in_place_is_reported(comm);
  statistics_may_be_set_anew(comm);
  MPI_Comm_free(&comm);
  TAQUIN_Plan plan;
  CHECK(TAQUIN_Alltoall_init(a, 1, MPI_INT, b, 1, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, &plan) == MPI_SUCCESS);
  MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  failures = 0;
  calls_without_mpi_are_errors("after MPI_Finalize", plan);
  CHECK(TAQUIN_Plan_free(&plan) == MPI_SUCCESS);
  return all == 0 && failures == 0 ? 0 : 1;
}

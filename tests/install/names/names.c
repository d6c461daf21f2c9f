/* Every function of the C API links from the installed library. */
#include <stdio.h>
#include <taquin/taquin.h>

typedef void (*function)(void);

int main(void) {
  const function all[] = {
      (function)TAQUIN_Allgather,
      (function)TAQUIN_Alloc_shared,
      (function)TAQUIN_Allreduce,
      (function)TAQUIN_Alltoall,
      (function)TAQUIN_Alltoall_c,
      (function)TAQUIN_Alltoall_init,
      (function)TAQUIN_Alltoall_init_c,
      (function)TAQUIN_Alltoallv,
      (function)TAQUIN_Alltoallv_c,
      (function)TAQUIN_Alltoallv_in_place,
      (function)TAQUIN_Alltoallv_in_place_c,
      (function)TAQUIN_Alltoallv_in_place_init,
      (function)TAQUIN_Alltoallv_in_place_init_c,
      (function)TAQUIN_Alltoallv_init,
      (function)TAQUIN_Alltoallv_init_c,
      (function)TAQUIN_Alltoallw,
      (function)TAQUIN_Alltoallw_c,
      (function)TAQUIN_Alltoallw_init,
      (function)TAQUIN_Alltoallw_init_c,
      (function)TAQUIN_Barrier,
      (function)TAQUIN_Bcast,
      (function)TAQUIN_Comm_get_options,
      (function)TAQUIN_Comm_get_statistics,
      (function)TAQUIN_Comm_set_options,
      (function)TAQUIN_Comm_set_statistics,
      (function)TAQUIN_Failure_blocks,
      (function)TAQUIN_Free_shared,
      (function)TAQUIN_Gather,
      (function)TAQUIN_Last_error,
      (function)TAQUIN_Permute,
      (function)TAQUIN_Plan_free,
      (function)TAQUIN_Plan_get_statistics,
      (function)TAQUIN_Plan_memory,
      (function)TAQUIN_Redistribution_create,
      (function)TAQUIN_Redistribution_free,
      (function)TAQUIN_Redistribution_get_statistics,
      (function)TAQUIN_Redistribution_memory,
      (function)TAQUIN_Redistribution_redistribute,
      (function)TAQUIN_Redistribution_repair,
      (function)TAQUIN_Redistribution_roll_back,
      (function)TAQUIN_Redistribution_set_data,
      (function)TAQUIN_Redistribution_start,
      (function)TAQUIN_Redistribution_test,
      (function)TAQUIN_Redistribution_wait,
      (function)TAQUIN_Reduce,
      (function)TAQUIN_Scan,
      (function)TAQUIN_Scan_elements,
      (function)TAQUIN_Scatter,
      (function)TAQUIN_Set_invalid_argument,
      (function)TAQUIN_Sparse_begin,
      (function)TAQUIN_Sparse_data,
      (function)TAQUIN_Sparse_end,
      (function)TAQUIN_Sparse_exchange,
      (function)TAQUIN_Sparse_reply,
      (function)TAQUIN_Sparse_sources,
      (function)TAQUIN_Start,
      (function)TAQUIN_Test,
      (function)TAQUIN_Type_bounded_vector,
      (function)TAQUIN_Type_bucket,
      (function)TAQUIN_Type_circular_vector,
      (function)TAQUIN_Type_signature,
      (function)TAQUIN_Typed_copy,
      (function)TAQUIN_Wait,
  };
  size_t i;
  for (i = 0; i < sizeof all / sizeof *all; ++i)
    if (all[i] == NULL) return 1;
  printf("%zu functions\n", i);
  return 0;
}

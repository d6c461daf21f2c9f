/* Between Fortran and the C API: handles, descriptors of assumed-rank buffers, and Fortran's MPI_IN_PLACE and
 * MPI_BOTTOM. Compiled beside the modules by the C compiler that goes with the Fortran compiler, because the layout of
 * descriptors is the compiler's. Both modules, taquin and taquin_mpi, call it. */
#include <ISO_Fortran_binding.h>
#include <mpi.h>
#include <stdlib.h>

#include "taquin/taquin.h"

/* In mpi_f08 a handle is a struct of one INTEGER, in mpi it is the INTEGER: both arrive as its address. */
typedef const MPI_Fint *handle;

/* MPI_IN_PLACE and MPI_BOTTOM of Fortran's MPI module are variables: their addresses come with each call. */
struct sentinels {
  const void *in_place;
  const void *bottom;
};

/* 1 when the elements are contiguous. The last extent of an assumed-size array is -1. */
static int contiguous(const CFI_cdesc_t *d) {
  CFI_index_t row = (CFI_index_t)d->elem_len;
  int i, empty = 0;
  for (i = 0; i < d->rank; ++i)
    if (d->dim[i].extent == 0) empty = 1;
  for (i = 0; i < d->rank && !empty; ++i) {
    if (d->dim[i].extent != 1 && d->dim[i].sm != row) return 0;
    row *= d->dim[i].extent;
  }
  return 1;
}

static void *address(const CFI_cdesc_t *d, struct sentinels s, const char *invalid_text) {
  if (d->base_addr == s.in_place) return MPI_IN_PLACE;
  if (d->base_addr == s.bottom) return MPI_BOTTOM;
  if (!contiguous(d)) TAQUIN_Set_invalid_argument(invalid_text);
  return d->base_addr;
}

#define SEND_INVALID \
  "the send buffer is not contiguous: pass a contiguous array, or a derived datatype of the whole one"
#define RECV_INVALID \
  "the receive buffer is not contiguous: pass a contiguous array, or a derived datatype of the whole one"
#define DATA_INVALID "the data are not contiguous: pass a contiguous array"

static int peers_of(MPI_Comm comm) {
  int inter = 0, peers = 0, begun = 0, over = 0;
  MPI_Initialized(&begun);
  MPI_Finalized(&over);
  if (!begun || over || comm == MPI_COMM_NULL) return 0; /* an error of the call */
  MPI_Comm_test_inter(comm, &inter);
  if (inter)
    MPI_Comm_remote_size(comm, &peers);
  else
    MPI_Comm_size(comm, &peers);
  return peers;
}

/* The arrays with an element for each peer, whose lengths come with each call. Those of the send side do not count
 * where it is MPI_IN_PLACE. */
enum {
  SEND_COUNTS,
  SEND_DISPLS,
  RECV_COUNTS,
  RECV_DISPLS,
  COUNT_ARRAYS,
  SEND_TYPES = COUNT_ARRAYS,
  RECV_TYPES,
  ARRAYS
};

static void check_lengths(const MPI_Count lengths[], int arrays, const void *from, MPI_Comm comm) {
  static const char *const texts[ARRAYS] = {
      "sendcounts has fewer elements than there are ranks", "sdispls has fewer elements than there are ranks",
      "recvcounts has fewer elements than there are ranks", "rdispls has fewer elements than there are ranks",
      "sendtypes has fewer elements than there are ranks",  "recvtypes has fewer elements than there are ranks"};
  const int peers = peers_of(comm);
  int k;
  for (k = arrays - 1; k >= 0; --k) {
    const int sent = k == SEND_COUNTS || k == SEND_DISPLS || k == SEND_TYPES;
    if (lengths[k] < peers && !(sent && from == MPI_IN_PLACE)) TAQUIN_Set_invalid_argument(texts[k]);
  }
}

/* The errors of arrays other than these, by number (enumerators of module.inc): the next call of the C API on this
 * thread refuses it, a collective one on all ranks. */
void taquin_f_refuse_next(int what) {
  static const char *const texts[] = {
      "destinations or counts has fewer elements than there are blocks",
      "dest_ranks or dest_indices has fewer elements than length",
      "sources or counts has fewer elements than there are incoming blocks",
      "processes, distributions, blocks and firsts must have as many elements as extents",
      "extents, coordinates, a halo or a part has fewer elements than the layout has dimensions",
      "axes must have as many elements as the layout has dimensions",
      "lengths has fewer elements than there are processes along this dimension",
      "distribs, dargs and psizes must have as many elements as gsizes",
      "dest_ranks and dest_indices must have as many elements as the array has blocks",
      "counts has fewer elements than there are buckets"};
  TAQUIN_Set_invalid_argument(texts[what]);
}

/* The datatypes of all peers; NULL, which the C API refuses on all ranks, where there are none or no memory is left. */
static MPI_Datatype *types_of(handle given, MPI_Count length, MPI_Comm comm) {
  const int peers = peers_of(comm);
  MPI_Datatype *made;
  int i;
  if (comm == MPI_COMM_NULL || length < peers) return NULL;
  made = malloc(sizeof *made * (size_t)peers);
  for (i = 0; made != NULL && i < peers; ++i) made[i] = MPI_Type_f2c(given[i]);
  return made;
}

/* ---- Blocking exchanges. ---- */

int taquin_f_alltoall(const CFI_cdesc_t *sendbuf, MPI_Count sendcount, handle sendtype, const CFI_cdesc_t *recvbuf,
                      MPI_Count recvcount, handle recvtype, handle comm, const void *in_place, const void *bottom) {
  const struct sentinels s = {in_place, bottom};
  const void *from = address(sendbuf, s, SEND_INVALID);
  void *to = address(recvbuf, s, RECV_INVALID);
  return TAQUIN_Alltoall_c(from, sendcount, MPI_Type_f2c(*sendtype), to, recvcount, MPI_Type_f2c(*recvtype),
                           MPI_Comm_f2c(*comm));
}

int taquin_f_alltoall_init(const CFI_cdesc_t *sendbuf, MPI_Count sendcount, handle sendtype, const CFI_cdesc_t *recvbuf,
                           MPI_Count recvcount, handle recvtype, handle comm, handle info, TAQUIN_Plan *plan,
                           const void *in_place, const void *bottom) {
  const struct sentinels s = {in_place, bottom};
  const void *from = address(sendbuf, s, SEND_INVALID);
  void *to = address(recvbuf, s, RECV_INVALID);
  return TAQUIN_Alltoall_init_c(from, sendcount, MPI_Type_f2c(*sendtype), to, recvcount, MPI_Type_f2c(*recvtype),
                                MPI_Comm_f2c(*comm), MPI_Info_f2c(*info), plan);
}

/* Each call for both widths of counts. */
#define TAQUIN_FORTRAN(SUFFIX, COUNT, DISPL)                                                                          \
  int taquin_f_alltoallv##SUFFIX(const CFI_cdesc_t *sendbuf, const COUNT sendcounts[], const DISPL sdispls[],         \
                                 handle sendtype, const CFI_cdesc_t *recvbuf, const COUNT recvcounts[],               \
                                 const DISPL rdispls[], handle recvtype, handle comm, const void *in_place,           \
                                 const void *bottom, const MPI_Count lengths[]) {                                     \
    const struct sentinels s = {in_place, bottom};                                                                    \
    const void *from = address(sendbuf, s, SEND_INVALID);                                                             \
    void *to = address(recvbuf, s, RECV_INVALID);                                                                     \
    check_lengths(lengths, COUNT_ARRAYS, from, MPI_Comm_f2c(*comm));                                                  \
    return TAQUIN_Alltoallv##SUFFIX(from, sendcounts, sdispls, MPI_Type_f2c(*sendtype), to, recvcounts, rdispls,      \
                                    MPI_Type_f2c(*recvtype), MPI_Comm_f2c(*comm));                                    \
  }                                                                                                                   \
  int taquin_f_alltoallw##SUFFIX(const CFI_cdesc_t *sendbuf, const COUNT sendcounts[], const DISPL sdispls[],         \
                                 handle sendtypes, const CFI_cdesc_t *recvbuf, const COUNT recvcounts[],              \
                                 const DISPL rdispls[], handle recvtypes, handle comm, const void *in_place,          \
                                 const void *bottom, const MPI_Count lengths[]) {                                     \
    const struct sentinels s = {in_place, bottom};                                                                    \
    const MPI_Comm c = MPI_Comm_f2c(*comm);                                                                           \
    const void *from = address(sendbuf, s, SEND_INVALID);                                                             \
    void *to = address(recvbuf, s, RECV_INVALID);                                                                     \
    check_lengths(lengths, ARRAYS, from, MPI_Comm_f2c(*comm));                                                        \
    MPI_Datatype *send = from == MPI_IN_PLACE ? NULL : types_of(sendtypes, lengths[SEND_TYPES], c),                   \
                 *recv = types_of(recvtypes, lengths[RECV_TYPES], c);                                                 \
    const int code = TAQUIN_Alltoallw##SUFFIX(from, sendcounts, sdispls, send, to, recvcounts, rdispls, recv, c);     \
    free(send);                                                                                                       \
    free(recv);                                                                                                       \
    return code;                                                                                                      \
  }                                                                                                                   \
  int taquin_f_alltoallv_in_place##SUFFIX(const CFI_cdesc_t *buffer, const COUNT sendcounts[], const DISPL sdispls[], \
                                          const COUNT recvcounts[], const DISPL rdispls[], handle type, handle comm,  \
                                          const void *in_place, const void *bottom, const MPI_Count lengths[]) {      \
    const struct sentinels s = {in_place, bottom};                                                                    \
    void *data = address(buffer, s, DATA_INVALID);                                                                    \
    check_lengths(lengths, COUNT_ARRAYS, data, MPI_Comm_f2c(*comm));                                                  \
    return TAQUIN_Alltoallv_in_place##SUFFIX(data, sendcounts, sdispls, recvcounts, rdispls, MPI_Type_f2c(*type),     \
                                             MPI_Comm_f2c(*comm));                                                    \
  }                                                                                                                   \
  int taquin_f_alltoallv_init##SUFFIX(                                                                                \
      const CFI_cdesc_t *sendbuf, const COUNT sendcounts[], const DISPL sdispls[], handle sendtype,                   \
      const CFI_cdesc_t *recvbuf, const COUNT recvcounts[], const DISPL rdispls[], handle recvtype, handle comm,      \
      handle info, TAQUIN_Plan *plan, const void *in_place, const void *bottom, const MPI_Count lengths[]) {          \
    const struct sentinels s = {in_place, bottom};                                                                    \
    const void *from = address(sendbuf, s, SEND_INVALID);                                                             \
    void *to = address(recvbuf, s, RECV_INVALID);                                                                     \
    check_lengths(lengths, COUNT_ARRAYS, from, MPI_Comm_f2c(*comm));                                                  \
    return TAQUIN_Alltoallv_init##SUFFIX(from, sendcounts, sdispls, MPI_Type_f2c(*sendtype), to, recvcounts, rdispls, \
                                         MPI_Type_f2c(*recvtype), MPI_Comm_f2c(*comm), MPI_Info_f2c(*info), plan);    \
  }                                                                                                                   \
  int taquin_f_alltoallw_init##SUFFIX(                                                                                \
      const CFI_cdesc_t *sendbuf, const COUNT sendcounts[], const DISPL sdispls[], handle sendtypes,                  \
      const CFI_cdesc_t *recvbuf, const COUNT recvcounts[], const DISPL rdispls[], handle recvtypes, handle comm,     \
      handle info, TAQUIN_Plan *plan, const void *in_place, const void *bottom, const MPI_Count lengths[]) {          \
    const struct sentinels s = {in_place, bottom};                                                                    \
    const MPI_Comm c = MPI_Comm_f2c(*comm);                                                                           \
    const void *from = address(sendbuf, s, SEND_INVALID);                                                             \
    void *to = address(recvbuf, s, RECV_INVALID);                                                                     \
    check_lengths(lengths, ARRAYS, from, MPI_Comm_f2c(*comm));                                                        \
    MPI_Datatype *send = from == MPI_IN_PLACE ? NULL : types_of(sendtypes, lengths[SEND_TYPES], c),                   \
                 *recv = types_of(recvtypes, lengths[RECV_TYPES], c);                                                 \
    const int code = TAQUIN_Alltoallw_init##SUFFIX(from, sendcounts, sdispls, send, to, recvcounts, rdispls, recv, c, \
                                                   MPI_Info_f2c(*info), plan);                                        \
    free(send);                                                                                                       \
    free(recv);                                                                                                       \
    return code;                                                                                                      \
  }

TAQUIN_FORTRAN(, int, int)
TAQUIN_FORTRAN(_c, MPI_Count, MPI_Aint)

/* ---- Options. ---- */

int taquin_f_comm_set_options(handle comm, const TAQUIN_Options *options) {
  return TAQUIN_Comm_set_options(MPI_Comm_f2c(*comm), options);
}

int taquin_f_comm_get_options(handle comm, TAQUIN_Options *options) {
  return TAQUIN_Comm_get_options(MPI_Comm_f2c(*comm), options);
}

/* ---- Statistics. ---- */

int taquin_f_comm_set_statistics(handle comm, int on) { return TAQUIN_Comm_set_statistics(MPI_Comm_f2c(*comm), on); }

int taquin_f_comm_get_statistics(handle comm, TAQUIN_Statistics *statistics) {
  return TAQUIN_Comm_get_statistics(MPI_Comm_f2c(*comm), statistics);
}

/* ---- Redistribution. ---- */

int taquin_f_redistribution_create(const CFI_cdesc_t *data, MPI_Count blocks, MPI_Count block_length, handle type,
                                   handle comm, const char *algorithm, size_t memory,
                                   TAQUIN_Redistribution *redistribution) {
  const struct sentinels none = {"", ""};
  void *at = address(data, none, DATA_INVALID);
  return TAQUIN_Redistribution_create(at, blocks, block_length, MPI_Type_f2c(*type), MPI_Comm_f2c(*comm), algorithm,
                                      memory, redistribution);
}

int taquin_f_redistribute_layout(const CFI_cdesc_t *from_array, TAQUIN_Layout from, const CFI_cdesc_t *to_array,
                                 TAQUIN_Layout to, const int axes[], handle type, handle comm) {
  const struct sentinels none = {"", ""};
  const void *source = address(from_array, none, SEND_INVALID);
  void *target = address(to_array, none, RECV_INVALID);
  return TAQUIN_Redistribute_layout(source, from, target, to, axes, MPI_Type_f2c(*type), MPI_Comm_f2c(*comm));
}

int taquin_f_redistribute_layout_part(const CFI_cdesc_t *from_array, TAQUIN_Layout from, const MPI_Count from_begin[],
                                      const CFI_cdesc_t *to_array, TAQUIN_Layout to, const MPI_Count to_begin[],
                                      const MPI_Count extents[], const int axes[], handle type, handle comm) {
  const struct sentinels none = {"", ""};
  const void *source = address(from_array, none, SEND_INVALID);
  void *target = address(to_array, none, RECV_INVALID);
  return TAQUIN_Redistribute_layout_part(source, from, from_begin, target, to, to_begin, extents, axes,
                                         MPI_Type_f2c(*type), MPI_Comm_f2c(*comm));
}

int taquin_f_redistribute_layout_in_place(const CFI_cdesc_t *array, TAQUIN_Layout from, TAQUIN_Layout to,
                                          const int axes[], handle type, handle comm) {
  const struct sentinels none = {"", ""};
  return TAQUIN_Redistribute_layout_in_place(address(array, none, DATA_INVALID), from, to, axes, MPI_Type_f2c(*type),
                                             MPI_Comm_f2c(*comm));
}

int taquin_f_redistribute_layout_init(const CFI_cdesc_t *from_array, TAQUIN_Layout from, const CFI_cdesc_t *to_array,
                                      TAQUIN_Layout to, const int axes[], handle type, handle comm,
                                      TAQUIN_Layout_plan *plan) {
  const struct sentinels none = {"", ""};
  const void *source = address(from_array, none, SEND_INVALID);
  void *target = address(to_array, none, RECV_INVALID);
  return TAQUIN_Redistribute_layout_init(source, from, target, to, axes, MPI_Type_f2c(*type), MPI_Comm_f2c(*comm),
                                         plan);
}

int taquin_f_redistribute_layout_in_place_init(const CFI_cdesc_t *array, TAQUIN_Layout from, TAQUIN_Layout to,
                                               const int axes[], handle type, handle comm, TAQUIN_Layout_plan *plan) {
  const struct sentinels none = {"", ""};
  return TAQUIN_Redistribute_layout_in_place_init(address(array, none, DATA_INVALID), from, to, axes,
                                                  MPI_Type_f2c(*type), MPI_Comm_f2c(*comm), plan);
}

int taquin_f_redistribution_set_data(TAQUIN_Redistribution redistribution, const CFI_cdesc_t *data) {
  const struct sentinels none = {"", ""};
  return TAQUIN_Redistribution_set_data(redistribution, address(data, none, DATA_INVALID));
}

int taquin_f_redistribution_repair(TAQUIN_Redistribution redistribution, handle survivors, TAQUIN_Block_map *map) {
  return TAQUIN_Redistribution_repair(redistribution, MPI_Comm_f2c(*survivors), map);
}

int taquin_f_redistribution_roll_back(TAQUIN_Redistribution redistribution, handle survivors, int length,
                                      const int dest_ranks[], const int dest_indices[], TAQUIN_Block_map *map) {
  return TAQUIN_Redistribution_roll_back(redistribution, MPI_Comm_f2c(*survivors), length, dest_ranks, dest_indices,
                                         map);
}

/* ---- Migration. ---- */

/* taquin_array of the modules. */
struct array {
  void *data;
  MPI_Count item_length;
  MPI_Fint type;
  MPI_Count capacity;
};

static void check_destinations(MPI_Count items, MPI_Count length) {
  if (length < items) TAQUIN_Set_invalid_argument("destinations has fewer elements than there are items");
}

int taquin_f_migrate(const CFI_cdesc_t *array, MPI_Count items, MPI_Count capacity, MPI_Count item_length, handle type,
                     const int destinations[], MPI_Count length, handle comm, MPI_Count *arrived) {
  const struct sentinels none = {"", ""};
  check_destinations(items, length);
  return TAQUIN_Migrate(address(array, none, DATA_INVALID), items, capacity, item_length, MPI_Type_f2c(*type),
                        destinations, MPI_Comm_f2c(*comm), arrived);
}

int taquin_f_migrate_arrays(int narrays, const struct array arrays[], MPI_Count items, const int destinations[],
                            MPI_Count length, handle comm, MPI_Count *arrived) {
  TAQUIN_Array *made = narrays > 0 ? malloc(sizeof *made * (size_t)narrays) : NULL;
  int i, code;
  check_destinations(items, length);
  if (narrays > 0 && made == NULL) TAQUIN_Set_invalid_argument("out of memory");
  for (i = 0; i < narrays && made != NULL; ++i) {
    made[i].data = arrays[i].data;
    made[i].item_length = arrays[i].item_length;
    made[i].type = MPI_Type_f2c(arrays[i].type);
    made[i].capacity = arrays[i].capacity;
  }
  code = TAQUIN_Migrate_arrays(narrays, made, items, destinations, MPI_Comm_f2c(*comm), arrived);
  free(made);
  return code;
}

/* ---- Sparse exchanges. ---- */

int taquin_f_sparse_begin(const CFI_cdesc_t *data, int blocks, const int destinations[], const MPI_Count counts[],
                          handle type, handle comm, TAQUIN_Sparse *sparse, int *incoming, MPI_Count *elements) {
  const struct sentinels none = {"", ""};
  return TAQUIN_Sparse_begin(address(data, none, DATA_INVALID), blocks, destinations, counts, MPI_Type_f2c(*type),
                             MPI_Comm_f2c(*comm), sparse, incoming, elements);
}

int taquin_f_sparse_exchange(const CFI_cdesc_t *data, int blocks, const int destinations[], const MPI_Count counts[],
                             handle type, handle comm, TAQUIN_Allocate *allocate, void *context, int *incoming,
                             int **sources, MPI_Count **recvcounts, void **buffer) {
  const struct sentinels none = {"", ""};
  return TAQUIN_Sparse_exchange(address(data, none, DATA_INVALID), blocks, destinations, counts, MPI_Type_f2c(*type),
                                MPI_Comm_f2c(*comm), allocate, context, incoming, sources, recvcounts, buffer);
}

int taquin_f_sparse_data(TAQUIN_Sparse sparse, const CFI_cdesc_t *buffer) {
  const struct sentinels none = {"", ""};
  return TAQUIN_Sparse_data(sparse, address(buffer, none, RECV_INVALID));
}

int taquin_f_sparse_reply(TAQUIN_Sparse sparse, const CFI_cdesc_t *answers, handle type, const CFI_cdesc_t *buffer) {
  const struct sentinels none = {"", ""};
  const void *from = address(answers, none, SEND_INVALID);
  return TAQUIN_Sparse_reply(sparse, from, MPI_Type_f2c(*type), address(buffer, none, RECV_INVALID));
}

/* ---- Permutations, collectives, datatypes. ---- */

int taquin_f_permute(int permutation, int by, const CFI_cdesc_t *sendbuf, const CFI_cdesc_t *recvbuf, MPI_Count count,
                     handle type, handle comm, const void *in_place, const void *bottom) {
  const struct sentinels s = {in_place, bottom};
  const void *from = address(sendbuf, s, SEND_INVALID);
  void *to = address(recvbuf, s, RECV_INVALID);
  return TAQUIN_Permute(permutation, by, from, to, count, MPI_Type_f2c(*type), MPI_Comm_f2c(*comm));
}

int taquin_f_bcast(const CFI_cdesc_t *buffer, MPI_Count count, handle type, int root, handle comm, const void *in_place,
                   const void *bottom) {
  const struct sentinels s = {in_place, bottom};
  void *data = address(buffer, s, DATA_INVALID);
  return TAQUIN_Bcast(data, count, MPI_Type_f2c(*type), root, MPI_Comm_f2c(*comm));
}

/* A collective of two buffers: its parameters between the datatype and the communicator, and what becomes of them. */
#define COLLECTIVE(name, call, parameters, arguments)                                                       \
  int taquin_f_##name(const CFI_cdesc_t *sendbuf, const CFI_cdesc_t *recvbuf, MPI_Count count, handle type, \
                      parameters handle comm, const void *in_place, const void *bottom) {                   \
    const struct sentinels s = {in_place, bottom};                                                          \
    const void *from = address(sendbuf, s, SEND_INVALID);                                                   \
    void *to = address(recvbuf, s, RECV_INVALID);                                                           \
    return call(from, to, count, MPI_Type_f2c(*type), arguments MPI_Comm_f2c(*comm));                       \
  }
#define OP_PARAMETER handle op,
#define OP_ARGUMENT MPI_Op_f2c(*op),
#define ROOT_PARAMETER int root,
#define ROOT_ARGUMENT root,
#define NONE

COLLECTIVE(reduce, TAQUIN_Reduce, OP_PARAMETER ROOT_PARAMETER, OP_ARGUMENT ROOT_ARGUMENT)
COLLECTIVE(allreduce, TAQUIN_Allreduce, OP_PARAMETER, OP_ARGUMENT)
COLLECTIVE(gather, TAQUIN_Gather, ROOT_PARAMETER, ROOT_ARGUMENT)
COLLECTIVE(allgather, TAQUIN_Allgather, NONE, NONE)
COLLECTIVE(scatter, TAQUIN_Scatter, ROOT_PARAMETER, ROOT_ARGUMENT)
COLLECTIVE(scan, TAQUIN_Scan, OP_PARAMETER, OP_ARGUMENT)
COLLECTIVE(scan_elements, TAQUIN_Scan_elements, OP_PARAMETER, OP_ARGUMENT)

int taquin_f_barrier(handle comm) { return TAQUIN_Barrier(MPI_Comm_f2c(*comm)); }

static int give_type(int code, MPI_Datatype made, MPI_Fint *type) {
  *type = MPI_Type_c2f(made);
  return code;
}

int taquin_f_type_bounded_vector(MPI_Count bound, MPI_Count block, MPI_Count stride, handle base, MPI_Fint *type) {
  MPI_Datatype made = MPI_DATATYPE_NULL;
  const int code = TAQUIN_Type_bounded_vector(bound, block, stride, MPI_Type_f2c(*base), &made);
  return give_type(code, made, type);
}

int taquin_f_type_circular_vector(MPI_Count extent, MPI_Count bound, MPI_Count start, MPI_Count block, MPI_Count stride,
                                  handle base, MPI_Fint *type) {
  MPI_Datatype made = MPI_DATATYPE_NULL;
  const int code = TAQUIN_Type_circular_vector(extent, bound, start, block, stride, MPI_Type_f2c(*base), &made);
  return give_type(code, made, type);
}

int taquin_f_type_bucket(MPI_Count size, int buckets, const MPI_Count counts[], handle base, MPI_Fint *type) {
  MPI_Datatype made = MPI_DATATYPE_NULL;
  const int code = TAQUIN_Type_bucket(size, buckets, counts, MPI_Type_f2c(*base), &made);
  return give_type(code, made, type);
}

int taquin_f_type_signature(handle of, MPI_Fint *type) {
  MPI_Datatype made = MPI_DATATYPE_NULL;
  const int code = TAQUIN_Type_signature(MPI_Type_f2c(*of), &made);
  return give_type(code, made, type);
}

int taquin_f_typed_copy(const CFI_cdesc_t *from, MPI_Count count, handle type, const CFI_cdesc_t *to,
                        MPI_Count to_count, handle to_type) {
  const struct sentinels none = {"", ""};
  const void *source = address(from, none, SEND_INVALID);
  return TAQUIN_Typed_copy(source, count, MPI_Type_f2c(*type), address(to, none, RECV_INVALID), to_count,
                           MPI_Type_f2c(*to_type));
}

// The C API's permutations, collectives and datatypes.
#include "taquin/patterns.hpp"

#include <new>
#include <optional>
#include <vector>

#include "base/invalid_argument.hpp"
#include "c/invalid_text.hpp"
#include "c/translate.hpp"
#include "datatypes/committed.hpp"
#include "schedule/pattern_call.hpp"
#include "taquin/datatypes.hpp"
#include "taquin/error.hpp"
#include "taquin/taquin.h"

using namespace taquin;
using detail::collective;
using detail::guarded;
using detail::run_pattern;
using detail::run_permutation;
using detail::scan_all_elements;
using detail::take_invalid_text;

namespace {

// On this rank alone: its result is local.
template <class Make>
int make_type(MPI_Datatype* type, Make make) noexcept {
  return guarded(MPI_COMM_NULL, [&] {
    const char* const invalid_text = take_invalid_text();
    if (type == nullptr) throw usage_error("null address for the datatype", MPI_ERR_ARG);
    *type = MPI_DATATYPE_NULL;
    if (invalid_text != nullptr) throw usage_error(invalid_text, MPI_ERR_ARG);
    *type = make().release();
  });
}

}  // namespace

extern "C" {

int TAQUIN_Permute(int permutation, int by, const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype type,
                   MPI_Comm comm) {
  return guarded(comm, [&] {
    const bool known = permutation >= TAQUIN_SHIFT && permutation <= TAQUIN_HYPERCUBE;
    const auto kind = known ? static_cast<patterns::permutation>(permutation) : patterns::permutation::shift;
    const char* invalid_text = take_invalid_text();
    if (!known) invalid_text = "no permutation of TAQUIN_SHIFT, TAQUIN_RING and TAQUIN_HYPERCUBE";
    run_permutation(kind, by,
                    {.what = collective::barrier,
                     .send = sendbuf,
                     .recv = recvbuf,
                     .count = count,
                     .type = type,
                     .invalid_text = invalid_text},
                    comm);
  });
}

int TAQUIN_Barrier(MPI_Comm comm) {
  return guarded(comm, [&] { patterns::barrier(comm); });
}

int TAQUIN_Bcast(void* buffer, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm) {
  return guarded(comm, [&] {
    run_pattern({collective::broadcast, nullptr, buffer, count, type, MPI_OP_NULL, root, take_invalid_text()}, comm);
  });
}

int TAQUIN_Reduce(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype type, MPI_Op op, int root,
                  MPI_Comm comm) {
  return guarded(comm, [&] {
    run_pattern({collective::reduce, sendbuf, recvbuf, count, type, op, root, take_invalid_text()}, comm);
  });
}

int TAQUIN_Allreduce(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  return guarded(comm, [&] {
    run_pattern({collective::allreduce, sendbuf, recvbuf, count, type, op, 0, take_invalid_text()}, comm);
  });
}

int TAQUIN_Gather(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm) {
  return guarded(comm, [&] {
    run_pattern({collective::gather, sendbuf, recvbuf, count, type, MPI_OP_NULL, root, take_invalid_text()}, comm);
  });
}

int TAQUIN_Allgather(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype type, MPI_Comm comm) {
  return guarded(comm, [&] {
    run_pattern({collective::allgather, sendbuf, recvbuf, count, type, MPI_OP_NULL, 0, take_invalid_text()}, comm);
  });
}

int TAQUIN_Scatter(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm) {
  return guarded(comm, [&] {
    run_pattern({collective::scatter, sendbuf, recvbuf, count, type, MPI_OP_NULL, root, take_invalid_text()}, comm);
  });
}

int TAQUIN_Scan(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  return guarded(comm, [&] {
    run_pattern({collective::scan, sendbuf, recvbuf, count, type, op, 0, take_invalid_text()}, comm);
  });
}

int TAQUIN_Scan_elements(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype type, MPI_Op op,
                         MPI_Comm comm) {
  return guarded(comm, [&] {
    scan_all_elements({collective::scan, sendbuf, recvbuf, count, type, op, 0, take_invalid_text()}, comm);
  });
}

int TAQUIN_Type_bounded_vector(MPI_Count bound, MPI_Count block, MPI_Count stride, MPI_Datatype base,
                               MPI_Datatype* type) {
  return make_type(type, [&] { return make_datatype(bounded_vector{bound, block, stride}, base); });
}

int TAQUIN_Type_circular_vector(MPI_Count extent, MPI_Count bound, MPI_Count start, MPI_Count block, MPI_Count stride,
                                MPI_Datatype base, MPI_Datatype* type) {
  return make_type(type, [&] { return make_datatype(circular_vector{extent, bound, start, block, stride}, base); });
}

int TAQUIN_Type_bucket(MPI_Count size, int buckets, const MPI_Count counts[], MPI_Datatype base, MPI_Datatype* type) {
  return make_type(type, [&] {
    if (buckets < 0 || (buckets > 0 && counts == nullptr)) throw usage_error("no counts of buckets", MPI_ERR_ARG);
    const std::vector<count_t> filled(counts, counts + buckets);
    return make_datatype(bucket{size, filled}, base);
  });
}

int TAQUIN_Type_signature(MPI_Datatype of, MPI_Datatype* type) {
  return make_type(type, [&] { return signature_type(of); });
}

int TAQUIN_Typed_copy(const void* from, MPI_Count count, MPI_Datatype type, void* to, MPI_Count to_count,
                      MPI_Datatype to_type) {
  return guarded(MPI_COMM_NULL, [&] {
    if (const char* const text = take_invalid_text()) throw usage_error(text, MPI_ERR_ARG);
    for (const MPI_Datatype used : {type, to_type})
      if (const char* const text = detail::invalid_text_of(used)) throw usage_error(text, MPI_ERR_TYPE);
    typed_copy(from, count, type, to, to_count, to_type);
  });
}

}  // extern "C"

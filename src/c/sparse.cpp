// The C API's sparse exchange.
#include "taquin/sparse.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <utility>

#include "base/invalid_argument.hpp"
#include "base/sizes.hpp"
#include "c/invalid_text.hpp"
#include "c/options.hpp"
#include "c/translate.hpp"
#include "datatypes/committed.hpp"
#include "mpi/observer.hpp"
#include "taquin/error.hpp"
#include "taquin/taquin.h"

using namespace taquin;
using taquin::detail::guarded;
using taquin::detail::sparse_access;

struct TAQUIN_Sparse_state {
  detail::handle_comm comm;
  std::shared_ptr<statistics> counted;  // also after the communicator's were set again
  std::optional<sparse_call> call;
};

namespace {

const char* invalid_text_of(int blocks, MPI_Datatype type, bool lacks_address) {
  const char* invalid_text = detail::take_invalid_text();
  if (invalid_text != nullptr) return invalid_text;
  if (blocks < 0) return "the number of blocks must be 0 or more";
  return lacks_address ? "null address for a result" : detail::invalid_text_of(type);
}

sparse_blocks blocks_of(const void* data, int blocks, const int* destinations, const MPI_Count* counts,
                        MPI_Datatype type) {
  return {data, {destinations, detail::as_size(std::max(blocks, 0))}, count_view(counts), type};
}

// More blocks than an int counts need a program that has them: it gets an error.
int number_of(const sparse_call& call) {
  if (call.sources().size() > detail::as_size(std::numeric_limits<int>::max()))
    throw usage_error("this rank receives more than 2^31 - 1 blocks", MPI_ERR_COUNT);
  return static_cast<int>(call.sources().size());
}

template <class F>
int with(TAQUIN_Sparse s, F f, const char* function = __builtin_FUNCTION()) noexcept {
  return taquin::detail::guarded_handle(
      s, "null sparse exchange", MPI_ERR_ARG, [&](auto& made) { f(*made.call); }, function);
}

}  // namespace

extern "C" {

int TAQUIN_Sparse_begin(const void* data, int blocks, const int destinations[], const MPI_Count counts[],
                        MPI_Datatype type, MPI_Comm comm, TAQUIN_Sparse* sparse, int* incoming, MPI_Count* elements) {
  return guarded(comm, [&] {
    if (sparse != nullptr) *sparse = TAQUIN_SPARSE_NULL;
    const char* invalid_text =
        invalid_text_of(blocks, type, sparse == nullptr || incoming == nullptr || elements == nullptr);
    // A rank without memory for the handle reports it in the call.
    const auto counted = detail::statistics_of(comm);
    std::unique_ptr<TAQUIN_Sparse_state> made(new (std::nothrow) TAQUIN_Sparse_state{
        .comm = detail::handle_comm(comm), .counted = counted, .call = std::nullopt});
    if (made == nullptr) invalid_text = detail::lacks_memory_text;
    sparse_call call = sparse_access::make(blocks_of(data, blocks, destinations, counts, type), comm,
                                           detail::options_of(comm), invalid_text, nullptr);
    if (made == nullptr || sparse == nullptr || incoming == nullptr || elements == nullptr)
      return;  // never: all ranks have thrown
    *incoming = number_of(call);
    *elements = static_cast<MPI_Count>(call.total());
    made->call.emplace(std::move(call));
    made->comm.keep();
    *sparse = made.release();
  });
}

int TAQUIN_Sparse_sources(TAQUIN_Sparse sparse, int sources[], MPI_Count counts[]) {
  return with(sparse, [&](const sparse_call& call) {
    const char* const invalid_text = detail::take_invalid_text();  // of Fortran's arrays
    if (invalid_text != nullptr) throw usage_error(invalid_text, MPI_ERR_ARG);
    if (sources != nullptr) std::ranges::copy(call.sources(), sources);
    if (counts != nullptr) std::ranges::copy(call.counts(), counts);
  });
}

int TAQUIN_Sparse_data(TAQUIN_Sparse sparse, void* buffer) {
  const detail::called_from here(__builtin_return_address(0));
  return with(sparse, [&](sparse_call& call) { call.receive(buffer); });
}

int TAQUIN_Sparse_reply(TAQUIN_Sparse sparse, const void* answers, MPI_Datatype type, void* buffer) {
  const detail::called_from here(__builtin_return_address(0));
  return with(sparse, [&](sparse_call& call) { call.reply(answers, type, buffer); });
}

int TAQUIN_Sparse_end(TAQUIN_Sparse* sparse) {
  if (sparse == nullptr || *sparse == nullptr) return detail::refuse(__func__, "null sparse exchange", MPI_ERR_ARG);
  const std::unique_ptr<TAQUIN_Sparse_state> gone(std::exchange(*sparse, nullptr));
  return guarded(gone->comm, [&] { gone->call.reset(); });
}

int TAQUIN_Sparse_exchange(const void* data, int blocks, const int destinations[], const MPI_Count counts[],
                           MPI_Datatype type, MPI_Comm comm, TAQUIN_Allocate* allocate, void* context, int* incoming,
                           int** sources, MPI_Count** recvcounts, void* buffer) {
  const detail::called_from here(__builtin_return_address(0));
  return guarded(comm, [&] {
    const bool lacks =
        allocate == nullptr || incoming == nullptr || sources == nullptr || recvcounts == nullptr || buffer == nullptr;
    if (!lacks) {
      *incoming = 0;
      *sources = nullptr;
      *recvcounts = nullptr;
      *static_cast<void**>(buffer) = nullptr;
    }
    const auto counted = detail::statistics_of(comm);  // `allocate` may set them again
    const auto provide = [&](const sparse_call& call) -> void* {
      *incoming = number_of(call);
      const auto n = detail::as_size(*incoming);
      *sources = static_cast<int*>(allocate(n * sizeof(int), context));
      *recvcounts = static_cast<MPI_Count*>(allocate(n * sizeof(MPI_Count), context));
      if (n > 0 && (*sources == nullptr || *recvcounts == nullptr)) throw std::bad_alloc();
      if (n > 0) std::ranges::copy(call.sources(), *sources);
      if (n > 0) std::ranges::copy(call.counts(), *recvcounts);
      const element e = element::of(type);
      const count_t bytes =
          call.total() == 0 ? 0 : (call.total() - 1) * e.extent + std::max(e.extent, e.true_lb + e.true_extent);
      void* const into = allocate(detail::as_size(bytes), context);
      *static_cast<void**>(buffer) = into;
      return into;
    };
    static_cast<void>(sparse_access::make(blocks_of(data, blocks, destinations, counts, type), comm,
                                          detail::options_of(comm), invalid_text_of(blocks, type, lacks),
                                          std::cref(provide)));  // allocates nothing
  });
}

}  // extern "C"

// The C API's redistribution of blocks.
#include "taquin/redistribute.hpp"

#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "base/invalid_argument.hpp"
#include "base/sizes.hpp"
#include "c/block_map.hpp"
#include "c/invalid_text.hpp"
#include "c/options.hpp"
#include "c/translate.hpp"
#include "datatypes/committed.hpp"
#include "redistribute/access.hpp"
#include "taquin/error.hpp"
#include "taquin/taquin.h"

using taquin::count_t;
using taquin::count_view;
using taquin::usage_error;
using taquin::detail::as_c;
using taquin::detail::guarded;
using taquin::detail::handle_comm;
using taquin::detail::redistribution_access;
using taquin::detail::take_invalid_text;

struct TAQUIN_Redistribution_state {
  taquin::detail::handle_comm comm;
  taquin::statistics counted{};
  std::optional<taquin::redistribution> redistribution{};
  taquin::failure::block_map repaired{};  // the target of a program's map
};

namespace {

template <class F>
int with(TAQUIN_Redistribution r, F f, const char* function = __builtin_FUNCTION()) noexcept {
  return taquin::detail::guarded_handle(
      r, "null redistribution", MPI_ERR_ARG, [&](auto& made) { f(*made.redistribution); }, function);
}

// `repair(redistribution, invalid text)`, after which its communicator is `survivors`.
template <class Repair>
int repaired(TAQUIN_Redistribution r, MPI_Comm survivors, TAQUIN_Block_map* map, Repair repair,
             const char* function = __builtin_FUNCTION()) noexcept {
  const auto work = [&] {
    if (r == nullptr) throw usage_error("null redistribution", MPI_ERR_ARG);
    const char* const invalid_text = take_invalid_text();
    r->repaired = repair(*r->redistribution, map == nullptr ? "null address for the map" : invalid_text);
    r->comm = handle_comm(survivors);
    r->comm.keep();
    if (map != nullptr) *map = as_c(r->repaired);
  };
  return guarded(survivors, work, function);
}

}  // namespace

extern "C" {

int TAQUIN_Redistribution_create(void* data, MPI_Count blocks, MPI_Count block_length, MPI_Datatype type, MPI_Comm comm,
                                 const char* algorithm, size_t memory, TAQUIN_Redistribution* redistribution) {
  return guarded(comm, [&] {
    if (redistribution != nullptr) *redistribution = TAQUIN_REDISTRIBUTION_NULL;
    const char* invalid_text = take_invalid_text();
    if (invalid_text == nullptr) invalid_text = taquin::detail::invalid_text_of(type);
    if (redistribution == nullptr) invalid_text = "null address for the redistribution";
    // A rank without memory for the handle reports it in the call.
    std::unique_ptr<TAQUIN_Redistribution_state> made(new (std::nothrow)
                                                          TAQUIN_Redistribution_state{.comm = handle_comm(comm)});
    if (made == nullptr) invalid_text = taquin::detail::lacks_memory_text;
    const taquin::detail::owned_options& of_comm = taquin::detail::chosen_for(comm);
    const taquin::redistribute_options o{.algorithm = algorithm == nullptr ? "auto" : algorithm,
                                         .memory = memory,
                                         .least_progress = of_comm.least_progress,
                                         .stats = made == nullptr ? nullptr : &made->counted,
                                         .progress = of_comm.progress,
                                         .on_timeout = of_comm.on_timeout,
                                         .timeout = of_comm.timeout,
                                         .in_flight = of_comm.in_flight};
    auto r = redistribution_access::make(data, static_cast<count_t>(blocks), static_cast<count_t>(block_length), type,
                                         comm, o, invalid_text);
    if (made == nullptr || redistribution == nullptr) return;  // never: all ranks have thrown
    made->redistribution.emplace(std::move(r));
    made->comm.keep();
    *redistribution = made.release();
  });
}

int TAQUIN_Redistribution_redistribute(TAQUIN_Redistribution redistribution, int length, const int dest_ranks[],
                                       const int dest_indices[]) {
  return with(redistribution, [&](taquin::redistribution& r) {
    redistribution_access::run(r, length, count_view(dest_ranks), count_view(dest_indices), take_invalid_text());
  });
}

int TAQUIN_Redistribution_start(TAQUIN_Redistribution redistribution, int length, const int dest_ranks[],
                                const int dest_indices[]) {
  return with(redistribution, [&](taquin::redistribution& r) {
    redistribution_access::start(r, length, count_view(dest_ranks), count_view(dest_indices), take_invalid_text());
  });
}

int TAQUIN_Redistribution_test(TAQUIN_Redistribution redistribution, int* flag) {
  return with(redistribution, [&](taquin::redistribution& r) {
    if (flag == nullptr) throw usage_error("null address for the flag", MPI_ERR_ARG);
    *flag = r.test() ? 1 : 0;
  });
}

int TAQUIN_Redistribution_wait(TAQUIN_Redistribution redistribution) {
  return with(redistribution, [](taquin::redistribution& r) { r.wait(); });
}

int TAQUIN_Redistribution_repair(TAQUIN_Redistribution redistribution, MPI_Comm survivors, TAQUIN_Block_map* map) {
  return repaired(redistribution, survivors, map, [&](taquin::redistribution& r, const char* invalid_text) {
    return redistribution_access::repair(r, survivors, invalid_text);
  });
}

int TAQUIN_Redistribution_roll_back(TAQUIN_Redistribution redistribution, MPI_Comm survivors, int length,
                                    const int dest_ranks[], const int dest_indices[], TAQUIN_Block_map* map) {
  return repaired(redistribution, survivors, map, [&](taquin::redistribution& r, const char* invalid_text) {
    return redistribution_access::roll_back(r, survivors, length, count_view(dest_ranks), count_view(dest_indices),
                                            invalid_text);
  });
}

int TAQUIN_Redistribution_sort(TAQUIN_Redistribution redistribution, int length, int dest_ranks[], int dest_indices[]) {
  return with(redistribution, [&](taquin::redistribution& r) {
    if (const char* invalid_text = take_invalid_text(); invalid_text != nullptr)
      throw usage_error(invalid_text, MPI_ERR_ARG);
    if (length < 0) throw usage_error("a negative length", MPI_ERR_COUNT);
    if (length > 0 && (dest_ranks == nullptr || dest_indices == nullptr))
      throw usage_error("null destinations", MPI_ERR_ARG);
    const auto n = taquin::detail::as_size(length);
    r.sort({dest_ranks, n}, {dest_indices, n});
  });
}

int TAQUIN_Redistribution_set_data(TAQUIN_Redistribution redistribution, void* data) {
  return with(redistribution, [&](taquin::redistribution& r) {
    if (const char* invalid_text = take_invalid_text(); invalid_text != nullptr)
      throw usage_error(invalid_text, MPI_ERR_ARG);
    r.set_data(data);
  });
}

int TAQUIN_Redistribution_memory(TAQUIN_Redistribution redistribution, size_t* bytes) {
  return with(redistribution, [&](const taquin::redistribution& r) {
    if (bytes == nullptr) throw usage_error("null address for the bytes", MPI_ERR_ARG);
    *bytes = r.memory();
  });
}

int TAQUIN_Redistribution_get_statistics(TAQUIN_Redistribution redistribution, TAQUIN_Statistics* statistics) {
  return with(redistribution, [&](const taquin::redistribution&) {
    taquin::detail::give_statistics(redistribution->counted, statistics);
  });
}

int TAQUIN_Redistribution_free(TAQUIN_Redistribution* redistribution) {
  if (redistribution == nullptr || *redistribution == nullptr)
    return taquin::detail::refuse(__func__, "null redistribution", MPI_ERR_ARG);
  delete std::exchange(*redistribution, nullptr);
  return MPI_SUCCESS;
}

}  // extern "C"

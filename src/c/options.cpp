#include "c/options.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include "c/option_fields.hpp"
#include "c/translate.hpp"
#include "mpi/attribute.hpp"
#include "mpi/check.hpp"
#include "taquin/error.hpp"
#include "taquin/taquin.h"

namespace taquin::detail {

namespace {

int on_copy(MPI_Comm, int, void*, void* value, void* copy, int* flag) noexcept {
  try {
    *static_cast<void**>(copy) = new owned_options(*static_cast<const owned_options*>(value));
    *flag = 1;
    return MPI_SUCCESS;
  } catch (...) {
    return code_of_current_exception();
  }
}

int on_delete(MPI_Comm, int, void* value, void*) noexcept {
  delete static_cast<owned_options*>(value);
  return MPI_SUCCESS;
}

const mpi::attribute<owned_options>& kept() {
  static const mpi::attribute<owned_options> all(on_delete, on_copy);
  return all;
}

const owned_options* find(MPI_Comm comm) { return comm == MPI_COMM_NULL ? nullptr : kept().find(comm); }

// A caller that was compiled with an older header knows fewer fields: the others keep their defaults.
TAQUIN_Options complete(const TAQUIN_Options& given) {
  if (given.size < offsetof(TAQUIN_Options, memory))
    throw usage_error("TAQUIN_Options without its size: start from TAQUIN_OPTIONS_INIT", MPI_ERR_ARG);
  TAQUIN_Options o = TAQUIN_OPTIONS_INIT;
  std::memcpy(&o, &given, std::min(given.size, sizeof o));
  o.size = sizeof o;
  return o;
}

std::optional<std::string> hint(MPI_Info info, const char* key) {
  std::array<char, MPI_MAX_INFO_VAL + 1> value{};
  int found = 0;
#if MPI_VERSION >= 4
  int length = MPI_MAX_INFO_VAL + 1;
  TAQUIN_MPI(PMPI_Info_get_string(info, key, &length, value.data(), &found));
#else
  TAQUIN_MPI(PMPI_Info_get(info, key, MPI_MAX_INFO_VAL, value.data(), &found));
#endif
  return found != 0 ? std::optional<std::string>(value.data()) : std::nullopt;
}

}  // namespace

options options_of(MPI_Comm comm) {
  const owned_options* stored = find(comm);
  return stored != nullptr ? stored->view() : options{};
}

owned_options options_of(MPI_Comm comm, MPI_Info info) {
  const owned_options* stored = find(comm);
  owned_options o = stored != nullptr ? *stored : owned_options{};
  if (info == MPI_INFO_NULL) return o;
  for (const option_row& row : option_table)
    if (const auto text = hint(info, row.hint)) read_hint(row, text->c_str(), o);
  return o;
}

namespace {

void set_options(MPI_Comm comm, const TAQUIN_Options* given) {
  if (comm == MPI_COMM_NULL) throw usage_error("null communicator", MPI_ERR_COMM);
  if (given == nullptr) {
    if (find(comm) != nullptr) kept().erase(comm);
    return;
  }
  auto stored = std::make_unique<owned_options>(from_c(complete(*given)));
  kept().set(comm, stored.get());
  static_cast<void>(stored.release());  // the communicator's now
}

void get_options(MPI_Comm comm, TAQUIN_Options* wanted) {
  if (comm == MPI_COMM_NULL) throw usage_error("null communicator", MPI_ERR_COMM);
  if (wanted == nullptr) throw usage_error("null options", MPI_ERR_ARG);
  static const owned_options defaults;
  const std::size_t size = wanted->size;
  const owned_options* stored = find(comm);
  TAQUIN_Options o = to_c(stored != nullptr ? *stored : defaults);
  o.size = size;
  std::memcpy(wanted, &o, std::min(size, sizeof o));
}

}  // namespace

}  // namespace taquin::detail

int TAQUIN_Comm_set_options(MPI_Comm comm, const TAQUIN_Options* options) {
  return taquin::detail::guarded(comm, [&] { taquin::detail::set_options(comm, options); });
}

int TAQUIN_Comm_get_options(MPI_Comm comm, TAQUIN_Options* options) {
  return taquin::detail::guarded(comm, [&] { taquin::detail::get_options(comm, options); });
}

const char* TAQUIN_Last_error(void) { return taquin::detail::last_error(); }

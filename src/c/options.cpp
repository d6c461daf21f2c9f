#include "c/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "c/option_fields.hpp"
#include "c/translate.hpp"
#include "mpi/attribute.hpp"
#include "mpi/check.hpp"
#include "taquin/error.hpp"
#include "taquin/taquin.h"

namespace taquin::detail {

namespace {

// The C API's state of a communicator.
struct kept_for {
  owned_options chosen;
  std::shared_ptr<statistics> counted;  // of its calls, if the program has set it; not of duplicates
};

int on_copy(MPI_Comm, int, void*, void* value, void* copy, int* flag) noexcept {
  try {
    *static_cast<void**>(copy) = new kept_for{static_cast<const kept_for*>(value)->chosen, nullptr};
    *flag = 1;
    return MPI_SUCCESS;
  } catch (...) {
    return code_of_current_exception();
  }
}

int on_delete(MPI_Comm, int, void* value, void*) noexcept {
  delete static_cast<kept_for*>(value);
  return MPI_SUCCESS;
}

const mpi::attribute<kept_for>& kept() {
  static const mpi::attribute<kept_for> all(on_delete, on_copy);
  return all;
}

const owned_options default_options;  // made when the library is loaded
std::atomic<bool> any_kept{false};

// Allocates nothing.
kept_for* find(MPI_Comm comm) { return comm == MPI_COMM_NULL || !any_kept ? nullptr : kept().find(comm); }

// The state of `comm`, made if it does not exist.
kept_for& of(MPI_Comm comm) {
  if (comm == MPI_COMM_NULL) throw usage_error("null communicator", MPI_ERR_COMM);
  if (kept_for* stored = find(comm)) return *stored;
  auto made = std::make_unique<kept_for>();
  kept().set(comm, made.get());
  any_kept = true;
  return *made.release();  // the communicator's now
}

// A caller that was compiled with an older header knows fewer fields: the others keep their defaults.
TAQUIN_Options complete(const TAQUIN_Options& given) {
  if (given.size < offsetof(TAQUIN_Options, memory))
    throw usage_error("TAQUIN_Options without its size: start from TAQUIN_OPTIONS_INIT", MPI_ERR_ARG);
  TAQUIN_Options o = TAQUIN_OPTIONS_INIT;
  std::memcpy(&o, &given, std::min(given.size, sizeof o));
  o.size = sizeof o;
  return o;
}

// A hint of taquin's that matches no option would be ignored without a word.
void refuse_unknown(MPI_Info info) {
  int keys = 0;
  TAQUIN_MPI(PMPI_Info_get_nkeys(info, &keys));
  for (int k = 0; k < keys; ++k) {
    std::array<char, MPI_MAX_INFO_KEY + 1> key{};
    TAQUIN_MPI(PMPI_Info_get_nthkey(info, k, key.data()));
    const std::string_view name = key.data();
    const auto is = [&](const option_row& row) { return row.hint == name; };
    if (!name.starts_with("taquin_") || std::ranges::any_of(option_table, is)) continue;
    std::string known;
    for (const option_row& row : option_table) known += (known.empty() ? "" : ", ") + std::string(row.hint);
    throw usage_error(fmt::format("unknown hint '{}'; known are {}", name, known), MPI_ERR_INFO_KEY);
  }
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
  const kept_for* stored = find(comm);
  if (stored == nullptr) return {};
  options o = stored->chosen.view();
  o.stats = stored->counted.get();
  return o;
}

std::shared_ptr<statistics> statistics_of(MPI_Comm comm) {
  const kept_for* stored = find(comm);
  return stored != nullptr ? stored->counted : nullptr;
}

const owned_options& chosen_for(MPI_Comm comm) {
  const kept_for* stored = find(comm);
  return stored != nullptr ? stored->chosen : default_options;
}

owned_options options_of(MPI_Comm comm, MPI_Info info) {
  owned_options o = chosen_for(comm);
  if (info == MPI_INFO_NULL) return o;
  refuse_unknown(info);
  for (const option_row& row : option_table)
    if (const auto text = hint(info, row.hint)) read_hint(row, text->c_str(), o);
  return o;
}

namespace {

void set_options(MPI_Comm comm, const TAQUIN_Options* given) {
  of(comm).chosen = given == nullptr ? owned_options{} : from_c(complete(*given));
}

void get_options(MPI_Comm comm, TAQUIN_Options* wanted) {
  if (comm == MPI_COMM_NULL) throw usage_error("null communicator", MPI_ERR_COMM);
  if (wanted == nullptr) throw usage_error("null options", MPI_ERR_ARG);
  const std::size_t size = wanted->size;
  TAQUIN_Options o = to_c(chosen_for(comm));
  o.size = size;
  std::memcpy(wanted, &o, std::min(size, sizeof o));
}

}  // namespace

void give_statistics(const statistics& counted, TAQUIN_Statistics* wanted) {
  if (wanted == nullptr) throw usage_error("null statistics", MPI_ERR_ARG);
  const std::size_t size = wanted->size;
  if (size < offsetof(TAQUIN_Statistics, starts))
    throw usage_error("TAQUIN_Statistics without its size: start from TAQUIN_STATISTICS_INIT", MPI_ERR_ARG);
  // Names of algorithms are literals, which end with a zero.
  const char* algorithm = counted.algorithm.empty() ? "" : counted.algorithm.data();
  const TAQUIN_Statistics s{size,
                            algorithm,
                            counted.starts,
                            counted.rounds,
                            counted.messages,
                            counted.bytes_sent,
                            counted.bytes_copied,
                            counted.peak_memory,
                            counted.in_place_phases.requests,
                            counted.in_place_phases.data,
                            counted.in_place_phases.update};
  std::memcpy(wanted, &s, std::min(size, sizeof s));
}

}  // namespace taquin::detail

int TAQUIN_Comm_set_options(MPI_Comm comm, const TAQUIN_Options* options) {
  return taquin::detail::guarded(comm, [&] { taquin::detail::set_options(comm, options); });
}

int TAQUIN_Comm_get_options(MPI_Comm comm, TAQUIN_Options* options) {
  return taquin::detail::guarded(comm, [&] { taquin::detail::get_options(comm, options); });
}

int TAQUIN_Comm_set_statistics(MPI_Comm comm, int on) {
  return taquin::detail::guarded(
      comm, [&] { taquin::detail::of(comm).counted = on != 0 ? std::make_shared<taquin::statistics>() : nullptr; });
}

int TAQUIN_Comm_get_statistics(MPI_Comm comm, TAQUIN_Statistics* statistics) {
  return taquin::detail::guarded(comm, [&] {
    const auto& counted = taquin::detail::of(comm).counted;
    taquin::detail::give_statistics(counted != nullptr ? *counted : taquin::statistics{}, statistics);
  });
}

const char* TAQUIN_Last_error(void) { return taquin::detail::last_error(); }

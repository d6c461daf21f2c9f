#include "c/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>

#include "c/translate.hpp"
#include "mpi/check.hpp"
#include "taquin/error.hpp"
#include "taquin/taquin.h"

namespace taquin::detail {

namespace {

constexpr TAQUIN_Options defaults = TAQUIN_OPTIONS_INIT;
constexpr const char* default_inner = options{}.inner.data();  // literals
constexpr const char* default_levels = options{}.levels.data();
static_assert(TAQUIN_PROGRESS_THREAD == static_cast<int>(progress_by::thread));
static_assert(TAQUIN_TIMEOUT_FAIL == static_cast<int>(after_timeout::fail));
static_assert(TAQUIN_LAYOUT_PACKED == static_cast<int>(bruck_layout::packed));

int on_copy(MPI_Comm, int, void*, void* value, void* copy, int* flag) noexcept {
  try {
    *static_cast<void**>(copy) = new stored_options(*static_cast<const stored_options*>(value));
    *flag = 1;
    return MPI_SUCCESS;
  } catch (...) {
    return code_of_current_exception();
  }
}

int on_delete(MPI_Comm, int, void* value, void*) noexcept {
  delete static_cast<stored_options*>(value);
  return MPI_SUCCESS;
}

int keyval() {
  static const int key = [] {
    int made = MPI_KEYVAL_INVALID;
    TAQUIN_MPI(MPI_Comm_create_keyval(on_copy, on_delete, &made, nullptr));
    return made;
  }();
  return key;
}

const stored_options* find(MPI_Comm comm) {
  if (comm == MPI_COMM_NULL) return nullptr;
  void* value = nullptr;
  int found = 0;
  TAQUIN_MPI(MPI_Comm_get_attr(comm, keyval(), static_cast<void*>(&value), &found));
  return found != 0 ? static_cast<const stored_options*>(value) : nullptr;
}

// A caller that was compiled with an older header knows fewer fields: the others keep their defaults.
TAQUIN_Options complete(const TAQUIN_Options& given) {
  if (given.size < offsetof(TAQUIN_Options, memory))
    throw usage_error("TAQUIN_Options without its size: start from TAQUIN_OPTIONS_INIT", MPI_ERR_ARG);
  TAQUIN_Options o = defaults;
  std::memcpy(&o, &given, std::min(given.size, sizeof o));
  o.size = sizeof o;
  if (o.algorithm == nullptr) o.algorithm = defaults.algorithm;
  if (o.inner == nullptr) o.inner = default_inner;
  if (o.levels == nullptr) o.levels = default_levels;
  return o;
}

// In C, 0 asks for no radix.
std::optional<int> radix_of(int radix) { return radix != 0 ? std::optional<int>(radix) : std::nullopt; }

bruck_layout layout_of(int layout) {
  if (layout < TAQUIN_LAYOUT_AUTOMATIC || layout > TAQUIN_LAYOUT_PACKED)
    throw usage_error(fmt::format("{} is none of TAQUIN_LAYOUT_*", layout), MPI_ERR_ARG);
  return static_cast<bruck_layout>(layout);
}

progress_by progress_of(int by) {
  if (by < TAQUIN_PROGRESS_LIBRARY || by > TAQUIN_PROGRESS_THREAD)
    throw usage_error(fmt::format("{} is none of TAQUIN_PROGRESS_*", by), MPI_ERR_ARG);
  return static_cast<progress_by>(by);
}

after_timeout on_timeout_of(int then) {
  if (then < TAQUIN_TIMEOUT_WAIT || then > TAQUIN_TIMEOUT_FAIL)
    throw usage_error(fmt::format("{} is none of TAQUIN_TIMEOUT_*", then), MPI_ERR_ARG);
  return static_cast<after_timeout>(then);
}

float timeout_of(double seconds) {
  if (!(seconds >= 0)) throw usage_error(fmt::format("a timeout of {} seconds", seconds), MPI_ERR_ARG);
  return static_cast<float>(seconds);
}

agreement_when agreement_of(int when) {
  if (when < TAQUIN_AGREEMENT_NEEDED || when > TAQUIN_AGREEMENT_ALWAYS)
    throw usage_error(fmt::format("{} is none of TAQUIN_AGREEMENT_*", when), MPI_ERR_ARG);
  return static_cast<agreement_when>(when);
}

std::optional<std::string> hint(MPI_Info info, const char* key) {
  std::array<char, MPI_MAX_INFO_VAL + 1> value{};
  int found = 0;
  TAQUIN_MPI(MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value.data(), &found));
  return found != 0 ? std::optional<std::string>(value.data()) : std::nullopt;
}

template <class T>
void read_number(MPI_Info info, const char* key, T& number) {
  const auto text = hint(info, key);
  if (!text) return;
  const char* end = text->data() + text->size();
  const auto [stop, failed] = std::from_chars(text->data(), end, number);
  if (failed != std::errc{} || stop != end)
    throw usage_error(fmt::format("hint {} is '{}', not a number", key, *text), MPI_ERR_INFO_VALUE);
}

}  // namespace

options options_of(MPI_Comm comm) {
  const stored_options* stored = find(comm);
  return stored != nullptr ? stored->view() : options{};
}

stored_options options_of(MPI_Comm comm, MPI_Info info) {
  const stored_options* stored = find(comm);
  stored_options o = stored != nullptr ? *stored : stored_options{};
  if (info == MPI_INFO_NULL) return o;
  if (auto name = hint(info, "taquin_algorithm")) o.algorithm = *name;
  int check = o.values.check ? 1 : 0;
  read_number(info, "taquin_memory", o.values.memory);
  int radix = o.values.radix.value_or(0);
  read_number(info, "taquin_radix", radix);
  o.values.radix = radix_of(radix);
  int layout = static_cast<int>(o.values.layout);
  read_number(info, "taquin_layout", layout);
  o.values.layout = layout_of(layout);
  if (auto name = hint(info, "taquin_inner")) o.inner = *name;
  if (auto names = hint(info, "taquin_levels")) o.levels = *names;
  read_number(info, "taquin_max_in_flight", o.values.max_in_flight);
  read_number(info, "taquin_ports", o.values.ports);
  read_number(info, "taquin_check", check);
  o.values.check = check != 0;
  int tune = o.values.tune ? 1 : 0;
  read_number(info, "taquin_tune", tune);
  o.values.tune = tune != 0;
  int scratch = o.values.scratch_sends ? 1 : 0;
  read_number(info, "taquin_scratch_sends", scratch);
  o.values.scratch_sends = scratch != 0;
  int progress = static_cast<int>(o.values.progress);
  read_number(info, "taquin_progress", progress);
  o.values.progress = progress_of(progress);
  int on_timeout = static_cast<int>(o.values.on_timeout);
  read_number(info, "taquin_on_timeout", on_timeout);
  o.values.on_timeout = on_timeout_of(on_timeout);
  int agreement = static_cast<int>(o.values.agreement);
  read_number(info, "taquin_agreement", agreement);
  o.values.agreement = agreement_of(agreement);
  double timeout = o.values.timeout;
  read_number(info, "taquin_timeout", timeout);
  o.values.timeout = timeout_of(timeout);
  return o;
}

namespace {

void set_options(MPI_Comm comm, const TAQUIN_Options* given) {
  if (comm == MPI_COMM_NULL) throw usage_error("null communicator", MPI_ERR_COMM);
  if (given == nullptr) {
    if (find(comm) != nullptr) TAQUIN_MPI(MPI_Comm_delete_attr(comm, keyval()));
    return;
  }
  const TAQUIN_Options o = complete(*given);
  if (o.node_count < 0 || (o.node_count > 0 && o.nodes == nullptr))
    throw usage_error(fmt::format("{} nodes without their sizes", o.node_count), MPI_ERR_ARG);
  auto stored = std::make_unique<stored_options>();
  stored->nodes.assign(o.nodes, o.nodes + o.node_count);
  stored->algorithm = o.algorithm;
  stored->inner = o.inner;
  stored->levels = o.levels;
  stored->values.memory = o.memory;
  stored->values.radix = radix_of(o.radix);
  stored->values.layout = layout_of(o.layout);
  stored->values.max_in_flight = o.max_in_flight;
  stored->values.ports = o.ports;
  stored->values.check = o.check != 0;
  stored->values.tune = o.tune != 0;
  stored->values.scratch_sends = o.scratch_sends != 0;
  stored->values.progress = progress_of(o.progress);
  stored->values.on_timeout = on_timeout_of(o.on_timeout);
  stored->values.timeout = timeout_of(o.timeout);
  stored->values.agreement = agreement_of(o.agreement);
  TAQUIN_MPI(MPI_Comm_set_attr(comm, keyval(), stored.get()));
  static_cast<void>(stored.release());  // the communicator's now
}

void get_options(MPI_Comm comm, TAQUIN_Options* wanted) {
  if (comm == MPI_COMM_NULL) throw usage_error("null communicator", MPI_ERR_COMM);
  if (wanted == nullptr) throw usage_error("null options", MPI_ERR_ARG);
  TAQUIN_Options o = complete(*wanted);
  const std::size_t size = wanted->size;
  const stored_options* stored = find(comm);
  const options values = stored != nullptr ? stored->values : options{};
  o.algorithm = stored != nullptr ? stored->algorithm.c_str() : defaults.algorithm;
  o.memory = values.memory;
  o.radix = values.radix.value_or(0);
  o.layout = static_cast<int>(values.layout);
  o.inner = stored != nullptr ? stored->inner.c_str() : default_inner;
  o.levels = stored != nullptr ? stored->levels.c_str() : default_levels;
  o.max_in_flight = values.max_in_flight;
  o.ports = values.ports;
  o.node_count = stored != nullptr ? static_cast<int>(stored->nodes.size()) : 0;
  o.nodes = o.node_count > 0 ? stored->nodes.data() : nullptr;
  o.check = values.check ? 1 : 0;
  o.tune = values.tune ? 1 : 0;
  o.scratch_sends = values.scratch_sends ? 1 : 0;
  o.progress = static_cast<int>(values.progress);
  o.on_timeout = static_cast<int>(values.on_timeout);
  o.timeout = values.timeout;
  o.agreement = static_cast<int>(values.agreement);
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

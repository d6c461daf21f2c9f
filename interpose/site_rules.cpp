#include "interpose/site_rules.hpp"

#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/environment.hpp"
#include "interpose/call_site.hpp"
#include "interpose/settings.hpp"
#include "mpi/check.hpp"
#include "mpi/communicator.hpp"
#include "select/choose.hpp"

namespace taquin::interpose {

namespace {

// Never destroyed: calls may come while the program ends.
std::vector<detail::rule>& rules() {
  static auto* r = new std::vector<detail::rule>;
  return *r;
}

// The rules of each place that calls have come from.
const std::vector<const detail::rule*>& rules_at(const void* site) {
  static std::mutex mutex;
  static auto* const known = new std::unordered_map<const place*, std::vector<const detail::rule*>>;
  const place& at = place_of(site);
  const std::lock_guard lock(mutex);
  const auto [found, fresh] = known->try_emplace(&at);
  if (!fresh) return found->second;
  const call_site where = resolve(at.object, at.offset);
  const std::string line = where.file.substr(where.file.rfind('/') + 1) + ':' + std::to_string(where.line);
  for (const detail::rule& r : rules())
    if (r.site == where.function || (!where.file.empty() && r.site == line)) found->second.push_back(&r);
  return found->second;
}

}  // namespace

void load_site_rules() {
  const auto& e = detail::environment::get();
  if (e.profile.empty() || !e.algorithm.empty() || !settings::get().route) return;
  for (const detail::rule& r : detail::chooser::of(mpi::communicator::of(MPI_COMM_WORLD)).known().rules)
    if (!r.site.empty()) rules().push_back(r);
}

bool has_site_rules() noexcept { return !rules().empty(); }

std::string_view algorithm_at(const void* site, const exchange& x) {
  if (rules().empty()) return {};
  int ranks = 0;
  TAQUIN_MPI(MPI_Comm_size(x.comm, &ranks));
  for (const detail::rule* r : rules_at(site))
    if (r->kind.value_or(x.kind) == x.kind && r->in_place.value_or(x.in_place) == x.in_place &&
        (r->ranks == 0 || r->ranks == ranks) && !r->reused.value_or(false))
      return r->algorithm;
  return {};
}

}  // namespace taquin::interpose

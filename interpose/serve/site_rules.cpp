#include "interpose/serve/site_rules.hpp"

#include <mpi.h>

#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/environment.hpp"
#include "interpose/call_site.hpp"
#include "interpose/settings.hpp"
#include "mpi/communicator.hpp"
#include "select/choose.hpp"
#include "taquin/error.hpp"

namespace taquin::interpose {

namespace {

// All rules of the profile, and whether any has a site. Never destroyed: calls may be made while the program ends.
std::vector<detail::rule>& rules() {
  static auto* r = new std::vector<detail::rule>;
  return *r;
}
bool has_sites = false;

// The numbers of the rules of each call site.
const std::vector<int>& rules_at(const void* site) {
  static std::mutex mutex;
  static auto* const known = new std::unordered_map<const place*, std::vector<int>>;
  const place& at = place_of(site);
  const std::lock_guard lock(mutex);
  const auto [found, fresh] = known->try_emplace(&at);
  if (!fresh) return found->second;
  const call_site where = resolve(at.object, at.offset);
  const std::string line = where.file.substr(where.file.rfind('/') + 1) + ':' + std::to_string(where.line);
  for (std::size_t i = 0; i < rules().size(); ++i) {
    const std::string& wanted = rules()[i].site;
    if (!wanted.empty() && (wanted == where.function || (!where.file.empty() && wanted == line)))
      found->second.push_back(static_cast<int>(i));
  }
  return found->second;
}

}  // namespace

void load_site_rules() {
  const auto& e = detail::environment::get();
  if (e.profile.empty() || !e.algorithm.empty() || !settings::get().route) return;
  rules() = detail::chooser::get_or_create(mpi::communicator::get_or_create(MPI_COMM_WORLD)).known().rules;
  for (const detail::rule& r : rules()) has_sites = has_sites || !r.site.empty();
}

bool has_site_rules() noexcept { return has_sites; }

void by_rules_of(const void* site, const std::function<void()>& exchange_or_plan) {
  if (!has_sites) return exchange_or_plan();
  try {
    const detail::calls_from here(rules_at(site));
    return exchange_or_plan();
  } catch (const usage_error& e) {
    if (!e.collective()) throw;
  }
  exchange_or_plan();
}

}  // namespace taquin::interpose

#include "node/call_deadline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "base/environment.hpp"
#include "base/sizes.hpp"
#include "mpi/check.hpp"
#include "node/peer_records.hpp"
#include "taquin/error.hpp"

namespace taquin::detail {

namespace {

// As ranks of the call's communicator.
void translate(mpi::wait_record& found, MPI_Comm to) {
  if (found.comm == MPI_COMM_NULL || found.comm == to || found.missing.empty()) return;
  MPI_Group from_group = MPI_GROUP_NULL;
  MPI_Group to_group = MPI_GROUP_NULL;
  TAQUIN_MPI(PMPI_Comm_group(found.comm, &from_group));
  TAQUIN_MPI(PMPI_Comm_group(to, &to_group));
  std::vector<int> ranks(found.missing.size());
  TAQUIN_MPI(PMPI_Group_translate_ranks(from_group, static_cast<int>(ranks.size()), found.missing.data(), to_group,
                                        ranks.data()));
  TAQUIN_MPI(PMPI_Group_free(&from_group));
  TAQUIN_MPI(PMPI_Group_free(&to_group));
  found.missing = ranks;
}

std::string in_quotes(const char* name) {
  return *name != '\0' ? fmt::format("'{}'", name) : std::string("a communicator");
}

// Then does as `on_timeout` specifies.
void print_warning(const std::string& text, after_timeout then, MPI_Comm comm) {
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
  if (then == after_timeout::abort) PMPI_Abort(comm, MPI_ERR_OTHER);
  if (then == after_timeout::fail) throw timed_out(text.substr(0, text.find('\n')), MPI_ERR_OTHER);
}

}  // namespace

call_timeout call_timeout::of(const options& o) noexcept {
  const environment& e = environment::get();
  call_timeout p{o.timeout > 0 ? float{o.timeout} : e.timeout, o.on_timeout};
  if (p.then == after_timeout::wait && o.timeout <= 0) p.then = e.on_timeout;
  return p;
}

// If nothing else is known: the ranks of this node that have not entered this call, or have ended.
void call_deadline::find_missing(mpi::wait_record& found) const {
  if (on_.records == nullptr) return;
  int own = 0;
  TAQUIN_MPI(PMPI_Comm_rank(on_.comm, &own));
  for (int rank = 0; rank < static_cast<int>(on_.records->of.size()); ++rank) {
    if (rank == own) continue;
    const rank_state s = poll_at(on_.records->of[as_size(rank)]);
    if (s.gone || (s.known && s.calls < number_)) found.miss(rank);
  }
}

std::string call_deadline::report(const mpi::awaited* what) const {
  int own = 0;
  int ranks = 1;
  TAQUIN_MPI(PMPI_Comm_rank(on_.comm, &own));
  TAQUIN_MPI(PMPI_Comm_size(on_.comm, &ranks));
  const std::string who = fmt::format("taquin: rank {} of {} has waited {:.1f} s in", own, ranks, waited());
  if (on_.calls == nullptr)
    return fmt::format(
        "{} the first call of {}: {}\n"
        "taquin:   which ranks it waits for is not known in the first call\n",
        who, in_quotes(mpi::make_call_record(on_.comm)->name.data()), name_of_call(call_word_));
  mpi::wait_record found;
  if (what != nullptr) what->describe(found);
  translate(found, on_.comm);
  if (found.missing.empty()) find_missing(found);
  std::string text =
      fmt::format("{} call {} of {}: {}, algorithm {}{}{}\n", who, number_, in_quotes(on_.calls->name.data()),
                  name_of_call(call_word_), algorithm_.empty() ? "not chosen yet" : algorithm_,
                  found.what.empty() ? "" : ", ", found.what);
  if (found.missing.empty()) text += "taquin:   which ranks it waits for is not known\n";
  std::ranges::sort(found.missing);
  for (const int rank : found.missing) {
    const peer_record* const place =
        on_.records != nullptr && rank >= 0 && rank < ranks ? &on_.records->of[as_size(rank)] : nullptr;
    text +=
        fmt::format("taquin:   rank {} is missing: {}\n", rank,
                    place != nullptr && place->process >= 0 ? describe(poll_at(*place))
                                                            : "it is on another node, or its record cannot be read");
  }
  return text;
}

void call_deadline::expired(const mpi::awaited* what) { print_warning(report(what), then_, on_.comm); }

}  // namespace taquin::detail

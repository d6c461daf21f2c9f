#include "node/call_watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "base/environment.hpp"
#include "mpi/check.hpp"
#include "node/places.hpp"
#include "taquin/error.hpp"

namespace taquin::detail {

namespace {

// As ranks of the call's communicator.
void translate(mpi::wait_note& note, MPI_Comm to) {
  if (note.comm == MPI_COMM_NULL || note.comm == to || note.missing.empty()) return;
  MPI_Group from_group = MPI_GROUP_NULL;
  MPI_Group to_group = MPI_GROUP_NULL;
  TAQUIN_MPI(PMPI_Comm_group(note.comm, &from_group));
  TAQUIN_MPI(PMPI_Comm_group(to, &to_group));
  std::vector<int> ranks(note.missing.size());
  TAQUIN_MPI(PMPI_Group_translate_ranks(from_group, static_cast<int>(ranks.size()), note.missing.data(), to_group,
                                        ranks.data()));
  TAQUIN_MPI(PMPI_Group_free(&from_group));
  TAQUIN_MPI(PMPI_Group_free(&to_group));
  note.missing = ranks;
}

std::string in_quotes(const char* name) {
  return *name != '\0' ? fmt::format("'{}'", name) : std::string("a communicator");
}

// And does what is to follow.
void tell(const std::string& text, after_timeout then, MPI_Comm comm) {
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
  if (then == after_timeout::abort) PMPI_Abort(comm, MPI_ERR_OTHER);
  if (then == after_timeout::fail) throw timed_out(text.substr(0, text.find('\n')), MPI_ERR_OTHER);
}

}  // namespace

patience patience::of(const options& o) noexcept {
  const environment& e = environment::get();
  patience p{o.timeout > 0 ? o.timeout : e.timeout, o.on_timeout};
  if (p.then == after_timeout::wait && o.timeout <= 0) p.then = e.on_timeout;
  return p;
}

// Where nothing else is known: ranks of this node that have not begun this call, or have gone.
void call_watch::miss_by_places(mpi::wait_note& note) const {
  if (comm_.places == nullptr) return;
  for (int rank = 0; rank < comm_.size(); ++rank) {
    if (rank == comm_.rank()) continue;
    const rank_state s = look_at(comm_.places->of[static_cast<std::size_t>(rank)]);
    if (s.gone || (s.known && s.calls < number_)) note.miss(rank);
  }
}

std::string call_watch::report(const mpi::awaited* what) const {
  mpi::wait_note note;
  if (what != nullptr) what->describe(note);
  translate(note, comm_.get());
  if (note.missing.empty()) miss_by_places(note);
  std::string text =
      fmt::format("taquin: rank {} of {} has waited {:.1f} s in call {} of {}: {}, algorithm {}{}{}\n", comm_.rank(),
                  comm_.size(), waited(), number_, in_quotes(comm_.calls().name.data()), name_of_call(facts_),
                  algorithm_.empty() ? "not chosen yet" : algorithm_, note.what.empty() ? "" : ", ", note.what);
  if (note.missing.empty()) text += "taquin:   which ranks it waits for is not known\n";
  std::ranges::sort(note.missing);
  for (const int rank : note.missing) {
    const bool here = comm_.places != nullptr && rank >= 0 && rank < comm_.size() &&
                      comm_.places->of[static_cast<std::size_t>(rank)].process >= 0;
    text += fmt::format("taquin:   rank {} is missing: {}\n", rank,
                        here ? describe(look_at(comm_.places->of[static_cast<std::size_t>(rank)]))
                             : "it is on another node, or cannot be asked");
  }
  return text;
}

void call_watch::expired(const mpi::awaited* what) { tell(report(what), then_, comm_.get()); }

void meeting_watch::expired(const mpi::awaited*) {
  int rank = 0;
  int ranks = 1;
  TAQUIN_MPI(PMPI_Comm_rank(comm_, &rank));
  TAQUIN_MPI(PMPI_Comm_size(comm_, &ranks));
  tell(fmt::format("taquin: rank {} of {} has waited {:.1f} s in the first call of {}: {}\n"
                   "taquin:   which ranks it waits for is not known before they have met\n",
                   rank, ranks, waited(), in_quotes(mpi::make_call_record(comm_)->name.data()), name_of_call(facts_)),
       then_, comm_);
}

}  // namespace taquin::detail

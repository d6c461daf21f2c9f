#include "select/choose.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "base/environment.hpp"
#include "mpi/check.hpp"
#include "node/detect.hpp"
#include "select/profile.hpp"
#include "taquin/error.hpp"

namespace taquin::detail {

namespace {

// Choices are forgotten beyond this many: a program with so many shapes changes them all the time.
constexpr std::size_t most_remembered = 4096;

// Rank 0's profile as text; empty when none is named.
std::string read_file(const std::string& name) {
  std::ifstream in(name);
  if (!in) throw profile_error(fmt::format("cannot read '{}'", name));
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// Rank 0's text for all, empty when it cannot be used; and the number of its cores.
std::string share_profile(mpi::communicator& comm, int& cores) {
  std::string text;
  if (comm.rank() == 0 && !environment::get().profile.empty()) {
    const std::string& name = environment::get().profile;
    try {
      text = read_file(name);
      const profile p = from_json(text);
      if (p.model.machine != machine_name())
        throw profile_error(fmt::format("made on '{}', this is '{}'", p.model.machine, machine_name()));
    } catch (const profile_error& e) {
      static const int once =
          std::fprintf(stderr, "taquin: profile %s: %s; the built-in model serves\n", name.c_str(), e.what());
      static_cast<void>(once);
      text.clear();
    }
  }
  std::array<int, 2> head{static_cast<int>(text.size()), static_cast<int>(std::thread::hardware_concurrency())};
  TAQUIN_MPI(MPI_Bcast(head.data(), 2, MPI_INT, 0, comm.get()));
  text.resize(static_cast<std::size_t>(head[0]));
  if (!text.empty()) TAQUIN_MPI(MPI_Bcast(text.data(), head[0], MPI_BYTE, 0, comm.get()));
  cores = std::max(head[1], 1);
  return text;
}

}  // namespace

chooser::chooser(mpi::communicator& comm) {
  int cores = 1;
  const std::string text = share_profile(comm, cores);
  if (!text.empty()) profile_ = from_json(text);
  const int on_node = nodes_of(comm, {})->topology.nodes().largest();
  share_cores(profile_.model, on_node, cores);
}

chooser& chooser::of(mpi::communicator& comm) {
  if (comm.choices == nullptr) comm.choices = std::shared_ptr<chooser>(new chooser(comm));
  return *comm.choices;
}

const algorithm* chooser::choose(const shape& s, const options& o, bool reused, std::size_t limit) {
  const std::uint64_t key = choice_key(s, o, reused, limit);
  const auto found = remembered_.find(key);
  const algorithm* a = found == remembered_.end() ? nullptr : found->second;
  if (a == nullptr || !a->supports(s) || a->memory(s, o) > limit) {
    a = select(s, o, reused, limit, profile_);
    if (a == nullptr)
      throw on_all_ranks(usage_error("no algorithm serves this exchange", MPI_ERR_UNSUPPORTED_OPERATION));
    if (remembered_.size() >= most_remembered) remembered_.clear();
    remembered_[key] = a;
  }
  if (!reused) piggybacks_[static_cast<std::size_t>(s.kind)] = a->carried.prepare != nullptr ? a : nullptr;
  return a;
}

}  // namespace taquin::detail

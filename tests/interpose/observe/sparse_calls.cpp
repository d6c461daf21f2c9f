// sparse_calls: sparse exchanges in a ring, by the C++ and the C interface.
// sparse_calls RECORD REPORT RANKS: what was recorded of that on so many ranks.
#include <fmt/format.h>
#include <mpi.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "taquin/migrate.hpp"
#include "taquin/sparse.hpp"
#include "taquin/taquin.h"
#include "workloads/traffic.hpp"

namespace {

using taquin::count_t;
using namespace taquin::workloads;

constexpr int at_once = 3;
constexpr int in_c = 2;
constexpr int starts = 4;
constexpr count_t to_next = 1;  // elements of 8 bytes
constexpr count_t to_last = 2;

// Two blocks, for the next rank and for the one before.
struct ring {
  int rank = 0;
  int ranks = 1;
  std::vector<int> destinations;
  std::vector<count_t> counts{to_next, to_last};
  std::vector<double> data{0.5, 1.5, 2.5};
  ring() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    destinations = {(rank + 1) % ranks, (rank + ranks - 1) % ranks};
  }
  [[nodiscard]] taquin::sparse_blocks blocks() const {
    return {data.data(), destinations, taquin::count_view(counts.data()), MPI_DOUBLE};
  }
};

void exchange_in_c(const ring& r) {
  const std::vector<MPI_Count> counts(r.counts.begin(), r.counts.end());
  const auto provide = [](std::size_t bytes, void*) { return std::malloc(bytes); };
  int incoming = 0;
  int* sources = nullptr;
  MPI_Count* arrived = nullptr;
  void* data = nullptr;
  TAQUIN_Sparse_exchange(r.data.data(), 2, r.destinations.data(), counts.data(), MPI_DOUBLE, MPI_COMM_WORLD, provide,
                         nullptr, &incoming, &sources, &arrived, static_cast<void*>(&data));
  for (void* one : {static_cast<void*>(sources), static_cast<void*>(arrived), data}) std::free(one);
}

// It finds its targets by sparse exchanges, which are not the program's.
void migrate_elements(const ring& r) {
  std::vector<int> elements(4, r.rank);
  taquin::migrate(
      elements, [&](int) { return (r.rank + 1) % r.ranks; }, MPI_COMM_WORLD);
}

void exchange_in_two_steps(const ring& r) {
  taquin::sparse_call call(r.blocks(), MPI_COMM_WORLD);
  std::vector<double> arrived(static_cast<std::size_t>(call.total()));
  for (int i = 0; i + 1 < starts; ++i) call.receive(arrived.data());
  call.deliver(1, [](const taquin::sparse_call::chunk&) {});
  std::vector<double> answers(r.data.size());
  call.reply(arrived.data(), MPI_DOUBLE, answers.data());
}

int make_calls() {
  MPI_Init(nullptr, nullptr);
  {
    const ring r;
    for (int i = 0; i < at_once; ++i)
      static_cast<void>(taquin::sparse_exchange(r.destinations, r.counts, r.data, MPI_COMM_WORLD));
    for (int i = 0; i < in_c; ++i) exchange_in_c(r);
    exchange_in_two_steps(r);
    migrate_elements(r);
    try {  // one that fails on all ranks is no call
      const std::vector<int> nobody{r.ranks};
      const std::vector<count_t> none{0};
      static_cast<void>(taquin::sparse_exchange(nobody, none, std::vector<double>{}, MPI_COMM_WORLD));
    } catch (const taquin::usage_error&) {
    }
  }
  return MPI_Finalize();
}

int faults = 0;

void expect(bool right, const std::string& what) {
  if (right) return;
  fmt::print("wrong: {}\n", what);
  ++faults;
}

count_t sent(int ranks, int from, int to) {
  return 8 * (((from + 1) % ranks == to ? to_next : 0) + ((from + ranks - 1) % ranks == to ? to_last : 0));
}

void check_record(const char* file, int ranks) {
  const auto t = read_traffic(file);
  std::map<std::pair<call_form, bool>, std::uint64_t> calls;  // and whether those are answers
  for (const auto& c : t.calls) {
    expect(c.kind == call_kind::sparse && c.element_bytes == 8, std::string(name_of(c.kind)));
    expect(c.seconds.mean > 0, "seconds");
    const auto& m = t.matrices[c.matrix];
    bool requested = true;
    bool answered = true;
    for (int from = 0; from < ranks; ++from)
      for (int to = 0; to < ranks; ++to) {
        requested = requested && m.at(from, to) == sent(ranks, from, to);
        answered = answered && m.at(from, to) == sent(ranks, to, from);
      }
    expect(requested || answered, "matrix");
    calls[{c.form, !requested}] += c.repeats;
  }
  const bool same = ranks <= 2;  // an answer then is as what was asked
  expect(calls[{call_form::blocking, false}] == at_once + in_c, "blocking calls");
  expect(calls[{call_form::persistent, false}] == starts + (same ? 1 : 0), "calls in two steps");
  expect(calls[{call_form::persistent, true}] == (same ? 0 : 1), "answers");
}

void check_report(const char* file, int ranks) {
  const auto report = nlohmann::json::parse(std::ifstream(file));
  std::map<std::string, std::uint64_t> calls;
  for (const auto& site : report["sites"]) {
    calls[site["form"].get<std::string>()] += site["calls"].get<std::uint64_t>();
    expect(site["bytes"] == site["calls"].get<count_t>() * ranks * 8 * (to_next + to_last), site["bytes"].dump());
    expect(site["destinations"] == (ranks <= 2 ? 1 : 2), site["destinations"].dump());
    expect(site["sources"] == site["destinations"], site["sources"].dump());
    expect(site["seconds"] > 0, site["seconds"].dump());
    expect(site["sent"] == site["received"], site["received"].dump());
    for (const auto& a : site["algorithms"]) expect(a["name"] != "native", a.dump());
    expect(!site.contains("native"), "the MPI library has no such call");
  }
  expect(calls["sparse"] == at_once + in_c && calls["sparse_init"] == starts + 1, report["sites"].dump());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return make_calls();
  const int ranks = std::atoi(argv[3]);
  check_record(argv[1], ranks);
  check_report(argv[2], ranks);
  return faults > 0 ? 1 : 0;
}

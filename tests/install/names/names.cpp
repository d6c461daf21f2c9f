// Every public name of the C++ headers, used once by a program that hides its own: what the installed shared library
// must show. names.sh compares what is used here with what the library shows.
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory_resource>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <taquin/taquin.hpp>
#include <utility>
#include <vector>

namespace {

constexpr taquin::count_t each = 3;

void expect(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "wrong: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

int ranks() {
  int p = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &p);
  return p;
}

int own_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

// `each` integers for every rank, and where what arrives must be.
struct blocks {
  std::size_t peers = static_cast<std::size_t>(ranks());
  std::vector<taquin::count_t> counts = std::vector<taquin::count_t>(peers, each);
  std::vector<taquin::count_t> displs = std::vector<taquin::count_t>(peers);
  std::vector<int> send = std::vector<int>(peers * each, own_rank());
  std::vector<int> recv = std::vector<int>(peers * each, -1);

  blocks() {
    for (std::size_t i = 0; i < peers; ++i) displs[i] = static_cast<taquin::count_t>(i) * each;
  }
  void arrived(std::vector<int>& in, const char* what) const {
    for (std::size_t i = 0; i < in.size(); ++i) expect(in[i] == static_cast<int>(i / each), what);
    std::fill(in.begin(), in.end(), -1);
  }
};

void call_everything() {
  using namespace taquin;
  blocks b;
  const std::vector<MPI_Datatype> types(b.peers, MPI_INT);
  std::vector<count_t> bytes = b.displs;
  for (count_t& d : bytes) d *= static_cast<count_t>(sizeof(int));
  MPI_Comm comm = MPI_COMM_WORLD;
  alltoall(b.send.data(), each, MPI_INT, b.recv.data(), each, MPI_INT, comm);
  b.arrived(b.recv, "alltoall");
  alltoallv(b.send.data(), b.counts.data(), b.displs.data(), MPI_INT, b.recv.data(), b.counts.data(), b.displs.data(),
            MPI_INT, comm);
  b.arrived(b.recv, "alltoallv");
  alltoallw(b.send.data(), b.counts.data(), bytes.data(), types.data(), b.recv.data(), b.counts.data(), bytes.data(),
            types.data(), comm);
  b.arrived(b.recv, "alltoallw");
  std::vector<int> both = b.send;
  alltoallv_in_place(both.data(), b.counts.data(), b.displs.data(), b.counts.data(), b.displs.data(), MPI_INT, comm);
  b.arrived(both, "alltoallv_in_place");

  alltoall(std::span<const int>(b.send), std::span<int>(b.recv), comm);
  b.arrived(b.recv, "alltoall of spans");
  alltoallv(std::span<const int>(b.send), std::span<const count_t>(b.counts), std::span<const count_t>(b.displs),
            std::span<int>(b.recv), std::span<const count_t>(b.counts), std::span<const count_t>(b.displs), comm);
  b.arrived(b.recv, "alltoallv of spans");
  both = b.send;
  alltoallv_in_place(std::span<int>(both), std::span<const count_t>(b.counts), std::span<const count_t>(b.displs),
                     std::span<const count_t>(b.counts), std::span<const count_t>(b.displs), comm);
  b.arrived(both, "alltoallv_in_place of spans");
  std::vector<int> made = alltoall(b.send, comm);
  b.arrived(made, "alltoall of a range");
  received<int> r = alltoallv(b.send, b.counts, comm);
  expect(r.from(0).size() == each, "received::from");
  b.arrived(r.data, "alltoallv of a range");
  alltoallv(b.send, b.counts, made, b.counts, comm);
  b.arrived(made, "alltoallv of ranges with all counts");
}

void plan_everything() {
  using namespace taquin;
  blocks b;
  const std::vector<MPI_Datatype> types(b.peers, MPI_INT);
  const count_view counts(b.counts.data());
  const count_view displs(b.displs.data());
  statistics seen;
  options o;
  o.stats = &seen;
  plan first(exchange::alltoall(b.send.data(), each, MPI_INT, b.recv.data(), each, MPI_INT, MPI_COMM_WORLD), o);
  first.run();
  b.arrived(b.recv, "plan::run");
  plan second(std::move(first));
  second.start();
  while (!second.test()) {
  }
  second.wait();
  b.arrived(b.recv, "plan::test");
  first = std::move(second);
  expect(!first.algorithm().empty() && first.memory() <= first.peak_memory() && seen.starts == 2, "plan's figures");
  run(exchange::alltoallv(b.send.data(), counts, displs, MPI_INT, b.recv.data(), counts, displs, MPI_INT,
                          MPI_COMM_WORLD));
  b.arrived(b.recv, "exchange::alltoallv");
  run(exchange::alltoallw(b.send.data(), counts, count_view(0, each * 4), types.data(), b.recv.data(), counts,
                          count_view(0, each * 4), types.data(), MPI_COMM_WORLD));
  b.arrived(b.recv, "exchange::alltoallw");
  run(exchange::alltoallv_in_place(b.send.data(), counts, displs, counts, displs, MPI_INT, MPI_COMM_WORLD));
  b.arrived(b.send, "exchange::alltoallv_in_place");
  expect(element::of(MPI_INT).size == sizeof(int) && datatype_of<int>() == MPI_INT, "element::of");
}

void redistribute_everything() {
  using namespace taquin;
  std::vector<int> data{1, 2, 3, 4};
  const std::vector<int> to(4, own_rank());
  const std::vector<int> at{3, 2, 1, 0};
  const std::vector<count_t> far(at.begin(), at.end());
  redistribution first(data.data(), 4, 1, MPI_INT, MPI_COMM_WORLD);
  redistribution moves(std::move(first));
  first = std::move(moves);
  const count_view ranks(to.data());
  const count_view places(at.data());
  first(4, ranks, places);
  first(to, at);
  first(std::span<const int>(to), std::span<const count_t>(far));
  first.start(4, ranks, places);
  while (!first.test()) {
  }
  first.start(to, at);
  first.wait();
  first.start(std::span<const int>(to), std::span<const count_t>(far));
  first.wait();
  expect(data == std::vector<int>{1, 2, 3, 4}, "redistribution");
  std::vector<int> sorted_to = to;
  std::vector<int> sorted_at = at;
  first.sort(sorted_to, sorted_at);
  first.set_data(data.data());
  expect(!first.algorithm().empty() && first.memory() <= first.peak_memory(), "redistribution's figures");

  const auto here = [](int) { return own_rank(); };
  migrate(data, here, MPI_COMM_WORLD);
  std::pmr::vector<int> other(data.begin(), data.end());
  migrate(other, here, MPI_COMM_WORLD);
  expect(migrate(std::span<int>(data), data.size(), here, MPI_COMM_WORLD) == 4, "migrate");
  std::vector<char> beside(data.size(), 'x');
  migrate([](std::size_t) { return own_rank(); }, MPI_COMM_WORLD, data, beside);
  migrate(std::vector<int>(4, own_rank()), MPI_COMM_WORLD, {.once = false}, data, beside);
  expect(data.size() == 4 && beside.size() == 4, "migrate, several arrays");
  const auto here_by_index = [](std::size_t) { return own_rank(); };
  expect(migrate(here_by_index, 3, MPI_COMM_WORLD, {}, std::span(data), std::span(beside)) == 3, "migrate, storage");
}

// A 6 x 4 array whose rows lie on the ranks goes to one whose columns do, transposed in memory.
void lay_arrays_everything() {
  using namespace taquin;
  const int p = ranks();
  const std::array<count_t, 2> none{};
  layout rows({dimension::even(6, p), dimension::whole(4)});
  rows.allocated(none).halo(none, none);
  std::vector<int> grid(static_cast<std::size_t>(p));
  std::iota(grid.begin(), grid.end(), 0);
  layout columns({dimension::whole(6), dimension::cyclic(4, p)});
  columns.on_ranks(grid).stored(std::array{1, 0});
  std::vector<int> from(static_cast<std::size_t>(rows.local_size(own_rank())));
  std::vector<int> to(static_cast<std::size_t>(columns.local_size(own_rank())), -1);
  std::iota(from.begin(), from.end(), 100 * own_rank());
  expect(rows.processes() == p && rows.invalid_on(p).empty() && rows.local_extents(own_rank())[1] == 4 &&
             rows.dimensions()[0].owned(own_rank()) * 4 == static_cast<count_t>(from.size()),
         "layout");
  layout_redistribution first(from.data(), rows, to.data(), columns, MPI_INT, MPI_COMM_WORLD);
  layout_redistribution moves(std::move(first));
  first = std::move(moves);
  first.start();
  while (!first.test()) {
  }
  first.wait();
  std::vector<int> again(to.size());
  first.set_data(from.data(), again.data());
  first();
  expect(again == to && first.peak_memory() > 0, "layout_redistribution");
  std::vector<int> alone = from;
  alone.resize(std::max(from.size(), to.size()));
  layout_redistribution(alone.data(), rows, columns, MPI_INT, MPI_COMM_WORLD)();
  expect(std::equal(to.begin(), to.end(), alone.begin()), "layout_redistribution in one array");
  redistribute(from.data(), rows, again.data(), columns, MPI_INT, MPI_COMM_WORLD);
  redistribute(std::span<const int>(from), rows, std::span<int>(again), columns, MPI_COMM_WORLD);
  std::vector<int> single = from;
  single.resize(std::max(from.size(), to.size()));
  redistribute(single.data(), rows, columns, MPI_INT, MPI_COMM_WORLD);
  expect(std::equal(to.begin(), to.end(), single.begin()), "redistribute of layouts in one array");
  redistribute(std::span<int>(single), columns, rows, MPI_COMM_WORLD);
  expect(std::equal(from.begin(), from.end(), single.begin()), "back in one array");
  for (count_t row = 0; row < 6; ++row) {
    for (count_t column = 0; column < 4; ++column) {
      const std::array<count_t, 2> index{row, column};
      const layout::place was = rows.find(index);
      const layout::place is = columns.find(index);
      if (is.rank == own_rank())
        expect(again[static_cast<std::size_t>(is.offset)] == 100 * was.rank + static_cast<int>(was.offset),
               "redistribute of layouts");
    }
  }
  const std::array<count_t, 1> lengths{4};
  const layout given({dimension::given(lengths)});
  const std::array<int, 1> four{4};
  const std::array<int, 1> cyclic{MPI_DISTRIBUTE_CYCLIC};
  const std::array<int, 1> usual{MPI_DISTRIBUTE_DFLT_DARG};
  const std::array<int, 1> one{1};
  expect(given.local_size(0) == layout::darray(four, cyclic, usual, one, MPI_ORDER_C).local_size(0) &&
             layout::scalapack(4, 4, 2, 2, 0, 0, 4, 1, 1).local_size(0) == 16,
         "layouts of others");
  std::vector<int> turned(grid.rbegin(), grid.rend());
  layout elsewhere = rows;
  elsewhere.on_ranks(turned);
  const layout better = elsewhere.relabelled(rows, p);
  expect(elements_moved(rows, better) == 0 && better.coordinates(own_rank()) == std::vector<int>({own_rank(), 0}),
         "layout::relabelled");
}

void share_everything() {
  using namespace taquin;
  void* const memory = allocate_shared(1000);
  free_shared(memory);
  std::pmr::vector<int> v(10, 7, &shared_resource());
  shared_buffer<double> buffer(100);
  shared_buffer<double> other(std::move(buffer));
  buffer = std::move(other);
  expect(v.back() == 7 && buffer.size() == 100 && buffer[99] == 0, "shared buffers");
}

void collect_everything() {
  using namespace taquin;
  const int p = ranks();
  const auto n = static_cast<std::size_t>(p);
  int one = 1;
  int got = 0;
  std::vector<int> all(n, 1);
  patterns::permute(patterns::permutation::ring, 0, &one, &got, 1, MPI_INT, MPI_COMM_WORLD);
  expect(got == one, "patterns::permute");
  patterns::barrier(MPI_COMM_WORLD);
  patterns::broadcast(&one, 1, MPI_INT, 0, MPI_COMM_WORLD);
  patterns::reduce(&one, &got, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  patterns::allreduce(&one, &got, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  expect(got == p, "patterns::allreduce");
  patterns::gather(&one, all.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
  patterns::allgather(&one, all.data(), 1, MPI_INT, MPI_COMM_WORLD);
  patterns::scatter(all.data(), &got, 1, MPI_INT, 0, MPI_COMM_WORLD);
  patterns::scan(&one, &got, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  patterns::scan_elements(&one, &got, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  expect(got == own_rank() + 1, "patterns::scan_elements");
}

template <class Layout>
void lay_out(const Layout& layout, taquin::count_t held) {
  using namespace taquin;
  std::vector<int> from(64);
  std::iota(from.begin(), from.end(), 0);
  std::vector<int> packed(64);
  std::vector<int> to(64);
  expect(elements(layout) == held, "elements");
  pack(layout, from.data(), MPI_INT, packed.data());
  unpack(layout, packed.data(), to.data(), MPI_INT);
  const datatype type = make_datatype(layout, MPI_INT);
  std::vector<int> copied(64);
  typed_copy(from.data(), 1, type.get(), copied.data(), held, MPI_INT);
  expect(copied == packed, "typed_copy");
  pack(from.data(), 1, type.get(), copied.data());
  unpack(packed.data(), copied.data(), 1, type.get());
  expect(signature_type(type.get()).get() != MPI_DATATYPE_NULL, "signature_type");
}

void lay_out_everything() {
  using namespace taquin;
  lay_out(bounded_vector{.bound = 10, .block = 2, .stride = 4}, 6);
  lay_out(circular_vector{.extent = 12, .bound = 8, .start = 8, .block = 2, .stride = 4}, 4);
  const std::array<count_t, 3> counts{1, 2, 0};
  lay_out(bucket{.size = 2, .counts = counts}, 3);
}

void predict_everything() {
  using namespace taquin;
  const machine_model machine = machine_model::built_in();
  expect(machine.cost(0, 100).sender >= 0, "machine_model::cost");
  const link_model& link = machine.levels[1];
  for (const model_kind kind : all_models)
    expect(!name_of(kind).empty() && link.time(kind, 100) > 0 && link.cost(kind, 100).latency >= 0, "link_model");
  expect(link.hockney.time(100) > 0 && link.hockney.cost(100).port >= 0, "hockney");
  expect(link.logp.time(100) > 0 && link.logp.cost(100).port >= 0, "logp");
  expect(link.loggp.time(100) > 0 && link.loggp.cost(100).port >= 0, "loggp");
  expect(link.plogp.time(100) > 0 && link.plogp.cost(100).port >= 0 && link.plogp.at(100).gap >= 0, "plogp");
}

void exchange_sparsely() {
  using namespace taquin;
  const std::vector<int> to{0};
  const std::vector<count_t> counts{1};
  const std::vector<int> data{7};
  const auto got = sparse_exchange(to, counts, data, MPI_COMM_WORLD);
  const sparse_blocks mine{data.data(), to, count_view(counts.data()), MPI_INT};
  sparse_call first(mine, MPI_COMM_WORLD);
  sparse_call second(std::move(first));
  first = std::move(second);
  count_t delivered = 0;
  first.deliver(1, [&](const sparse_call::chunk& p) { delivered += p.count; });
  sparse_call third(mine, MPI_COMM_WORLD);
  std::vector<int> into(static_cast<std::size_t>(third.total()));
  third.receive(into.data());
  std::vector<int> answered(data.size());
  third.reply(into.data(), MPI_INT, answered.data());
  expect(got.data == into && third.sources().size() == third.counts().size() && delivered == third.total() &&
             answered == data,
         "sparse");
}

template <class Error, class Thrower>
bool throws(Thrower thrower) {
  try {
    thrower();
  } catch (const Error&) {
    return true;
  }
  return false;
}

void catch_everything() {
  using namespace taquin;
  // Thrown by the library, caught here: their type information is the same on both sides.
  expect(throws<usage_error>([] { run(exchange{}); }), "usage_error");
  std::vector<int> data(4);
  const auto poor = [&] { redistribution(data.data(), 4, 1, MPI_INT, MPI_COMM_WORLD, {.memory = 1}); };
  expect(throws<budget_exceeded>(poor) && throws<error>(poor), "budget_exceeded");
  expect(throws<budget_exceeded>([] { throw on_all_ranks(budget_exceeded("text", 1, 2, 3)); }), "on_all_ranks");
  expect(throws<mpi_error>([] { throw mpi_error("text", MPI_ERR_OTHER, 1, "MPI_Send"); }), "mpi_error");
  expect(throws<timed_out>([] { throw timed_out("text", MPI_ERR_OTHER); }), "timed_out");
  expect(throws<peer_aborted>([] { throw peer_aborted("text", MPI_ERR_OTHER, 1, "why"); }), "peer_aborted");
  expect(throws<peer_failed>([] { throw peer_failed("text", MPI_ERR_OTHER, {1}); }), "peer_failed");
  expect(!failure::blocks().known, "failure::blocks");
  std::vector<int> few(4);
  redistribution whole(few.data(), 4, 1, MPI_INT, MPI_COMM_WORLD);
  expect(whole.repair(MPI_COMM_WORLD).known, "redistribution::repair");
  expect(whole.roll_back(MPI_COMM_WORLD, std::span<const int>(), std::span<const int>()).known,
         "redistribution::roll_back");
  expect(whole.roll_back(MPI_COMM_WORLD, std::span<const int>(), std::span<const count_t>()).known,
         "redistribution::roll_back with wide indices");
  expect(whole.roll_back(MPI_COMM_WORLD, 0, count_view(), count_view()).known, "redistribution::roll_back with views");
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  call_everything();
  plan_everything();
  redistribute_everything();
  lay_arrays_everything();
  share_everything();
  collect_everything();
  lay_out_everything();
  predict_everything();
  exchange_sparsely();
  catch_everything();
  MPI_Finalize();
}

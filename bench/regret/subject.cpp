#include "bench/regret/subject.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory_resource>
#include <optional>
#include <stdexcept>

#include "harness/block_problem.hpp"
#include "mpi/big_count.hpp"
#include "mpi/check.hpp"
#include "taquin/alltoall.hpp"
#include "taquin/plan.hpp"
#include "taquin/redistribute.hpp"
#include "taquin/shared_buffer.hpp"
#include "workloads/workload.hpp"

namespace taquin::regret {

namespace {

using harness::operation;

class mpi_resource final : public std::pmr::memory_resource {
  void* do_allocate(std::size_t bytes, std::size_t) override {
    void* memory = nullptr;
    TAQUIN_MPI(MPI_Alloc_mem(static_cast<MPI_Aint>(bytes), MPI_INFO_NULL, static_cast<void*>(&memory)));
    return memory;
  }
  void do_deallocate(void* memory, std::size_t, std::size_t) override { MPI_Free_mem(memory); }
  [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};

std::pmr::memory_resource* resource_of(const cell& c) {
  static mpi_resource from_mpi;
  if (c.buffers == "shared") return &shared_resource();
  if (c.buffers == "mpi") return &from_mpi;
  if (c.buffers == "ordinary") return std::pmr::new_delete_resource();
  throw std::invalid_argument("unknown buffers: " + c.buffers);
}

exchange::form form_of(const cell& c) {
  for (const auto f : {exchange::form::alltoall, exchange::form::alltoallv, exchange::form::alltoallw})
    if (c.form == (f == exchange::form::alltoall    ? "alltoall"
                   : f == exchange::form::alltoallv ? "alltoallv"
                                                    : "alltoallw"))
      return f;
  throw std::invalid_argument("unknown form: " + c.form);
}

bool is_plan(const cell& c) { return c.use == "plan" || c.use == "overlap"; }

// The sizes of the cell's calls: one, or four in turn.
std::vector<workloads::problem_size> sizes_of(const cell& c, int ranks) {
  std::vector<workloads::problem_size> all{{ranks, c.bytes, c.seed}};
  if (c.sizes == "change")
    for (const count_t n : {c.bytes / 2, c.bytes * 2, c.bytes / 4}) all.push_back({ranks, n, c.seed + all.size()});
  return all;
}

class plain_subject final : public subject {
 public:
  plain_subject(const cell& c, MPI_Comm comm) : plan_(is_plan(c)) {
    int rank = 0;
    int ranks = 1;
    TAQUIN_MPI(MPI_Comm_rank(comm, &rank));
    TAQUIN_MPI(MPI_Comm_size(comm, &ranks));
    const auto w = workloads::workload::parse(c.workload);
    const auto how = c.use == "in_place" ? harness::buffering::one_buffer : harness::buffering::separate;
    for (const auto& size : sizes_of(c, ranks)) {
      problems_.emplace_back(comm, form_of(c), how, w.row(size, rank), w.column(size, rank));
      arenas_.push_back({.from = resource_of(c)});
      shapes_.emplace_back();
    }
    for (std::size_t k = 0; k < problems_.size(); ++k) problems_[k].reserve(arenas_[k]);
  }

  [[nodiscard]] std::size_t calls() const override { return problems_.size(); }
  operation native(std::size_t k) override { return problems_[k].native(arenas_[k]); }
  operation ours(std::size_t k, const options& o) override {
    return plan_ ? problems_[k].persistent(arenas_[k], o) : problems_[k].blocking(arenas_[k], o);
  }
  void fill(std::size_t k, bool) override { problems_[k].fill(arenas_[k]); }
  count_t wrong(std::size_t k, bool) override { return problems_[k].wrong_bytes(arenas_[k]); }
  const detail::shape* shape(std::size_t k) override {
    if (!shapes_[k]) shapes_[k] = problems_[k].shape();
    return &*shapes_[k];
  }

 private:
  bool plan_;
  std::deque<harness::problem> problems_;
  std::deque<harness::arena> arenas_;
  std::deque<std::optional<detail::shape>> shapes_;
};

// alltoallw with every other 8 bytes of both buffers.
class strided_subject final : public subject {
 public:
  strided_subject(const cell& c, MPI_Comm comm)
      : comm_(comm), plan_(is_plan(c)), send_(resource_of(c)), recv_(resource_of(c)) {
    TAQUIN_MPI(MPI_Comm_rank(comm, &rank_));
    int ranks = 1;
    TAQUIN_MPI(MPI_Comm_size(comm, &ranks));
    TAQUIN_MPI(MPI_Type_create_resized(MPI_INT64_T, 0, stride, &type_));
    TAQUIN_MPI(MPI_Type_commit(&type_));
    types_.assign(static_cast<std::size_t>(ranks), type_);
    const auto w = workloads::workload::parse(c.workload);
    const workloads::problem_size size{ranks, c.bytes, c.seed};
    lay_out(w.row(size, rank_), scounts_, sdispls_, send_);
    lay_out(w.column(size, rank_), rcounts_, rdispls_, recv_);
  }
  ~strided_subject() override { MPI_Type_free(&type_); }

  [[nodiscard]] std::size_t calls() const override { return 1; }
  operation native(std::size_t) override {
    return {[this] {
              TAQUIN_MPI(PMPI_Alltoallw(send_.data(), scounts_.data(), sdispls_.data(), types_.data(), recv_.data(),
                                        rcounts_.data(), rdispls_.data(), types_.data(), comm_));
            },
            {}};
  }
  operation ours(std::size_t, const options& o) override {
    const exchange x = exchange::alltoallw(send_.data(), count_view(scounts_.data()), count_view(sdispls_.data()),
                                           types_.data(), recv_.data(), count_view(rcounts_.data()),
                                           count_view(rdispls_.data()), types_.data(), comm_);
    if (!plan_) return {[x, o] { run(x, o); }, {}};
    auto p = std::make_shared<plan>(x, o);
    return {[p] { p->start(); }, [p] { p->wait(); }};
  }
  void fill(std::size_t, bool) override {
    for (std::size_t to = 0; to < scounts_.size(); ++to)
      for (int i = 0; i < scounts_[to]; ++i) at(send_, sdispls_[to], i) = word(rank_, static_cast<int>(to), i);
    std::ranges::fill(recv_, free_region);
  }
  count_t wrong(std::size_t, bool) override {
    count_t wrong = 0;
    for (std::size_t from = 0; from < rcounts_.size(); ++from)
      for (int i = 0; i < rcounts_[from]; ++i) {
        if (at(recv_, rdispls_[from], i) != word(static_cast<int>(from), rank_, i)) wrong += 8;
        if ((&at(recv_, rdispls_[from], i))[1] != free_region) wrong += 8;
      }
    return wrong;
  }
  const detail::shape* shape(std::size_t) override { return nullptr; }

 private:
  static constexpr int stride = 16;
  static constexpr std::int64_t free_region = -1;
  static std::int64_t word(int from, int to, int i) {
    return (std::int64_t{from} << 48) + (std::int64_t{to} << 32) + i;
  }
  static std::int64_t& at(std::pmr::vector<std::int64_t>& v, int displ, int i) {
    return v[static_cast<std::size_t>(displ / 8 + 2 * i)];
  }
  static void lay_out(const std::vector<count_t>& bytes, std::vector<int>& counts, std::vector<int>& displs,
                      std::pmr::vector<std::int64_t>& buffer) {
    int end = 0;
    for (const count_t n : bytes) {
      counts.push_back(static_cast<int>((n + 7) / 8));
      displs.push_back(end);
      end += counts.back() * stride;
    }
    buffer.resize(static_cast<std::size_t>(end / 8 + 2));
  }

  MPI_Comm comm_;
  bool plan_;
  int rank_ = 0;
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  std::vector<MPI_Datatype> types_;
  std::vector<int> scounts_, sdispls_, rcounts_, rdispls_;
  std::pmr::vector<std::int64_t> send_, recv_;
};

class block_subject final : public subject {
 public:
  explicit block_subject(const cell& c)
      : blocks_(std::max<count_t>(c.bytes / block_bytes, 2)),
        problem_(harness::find_block_workload(c.workload), blocks_, blocks_, block_bytes, c.seed, resource_of(c)) {}

  [[nodiscard]] std::size_t calls() const override { return 1; }
  operation native(std::size_t) override {
    return {[this] { problem_.run_native(); }, {}};
  }
  operation ours(std::size_t, const options& o) override {
    auto object = std::make_shared<redistribution>(
        problem_.data(), blocks_, block_bytes, MPI_BYTE, MPI_COMM_WORLD,
        redistribute_options{.algorithm = o.algorithm, .memory = o.memory, .stats = o.stats});
    return {[this, object] { (*object)(problem_.map().ranks, problem_.map().indices); }, {}};
  }
  void fill(std::size_t, bool native) override {
    if (native)
      problem_.fill_native();
    else
      problem_.fill();
  }
  count_t wrong(std::size_t, bool native) override { return native ? problem_.wrong_native() : problem_.wrong_bytes(); }
  const detail::shape* shape(std::size_t) override { return nullptr; }

 private:
  static constexpr count_t block_bytes = 16384;
  count_t blocks_;
  harness::block_problem problem_;
};

}  // namespace

std::unique_ptr<subject> make_subject(const cell& c, MPI_Comm comm) {
  if (c.use == "blocks") return std::make_unique<block_subject>(c);
  if (c.types == "strided") return std::make_unique<strided_subject>(c, comm);
  return std::make_unique<plain_subject>(c, comm);
}

}  // namespace taquin::regret

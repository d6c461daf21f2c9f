// native: the MPI library's own collective.
//
// Source:  the MPI library; called by its PMPI name, so that a preloaded library is not called back.
// Rounds:  the MPI library's.
// Memory:  counts and displacements as arguments of the MPI library; derived types beyond its counts. The MPI library's
//          own memory is outside the budget.
// Limits:  in place only MPI_Alltoall.
// Wins:    where the MPI library knows the machine better.
#include <fmt/format.h>

#include <memory_resource>
#include <new>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "base/collective_error.hpp"
#include "base/outliving.hpp"
#include "base/sizes.hpp"
#include "exchange/by_address.hpp"
#include "model/terms.hpp"
#include "mpi/backoff.hpp"
#include "mpi/big_count.hpp"
#include "mpi/check.hpp"
#include "mpi/collectives.hpp"
#include "mpi/owned.hpp"
#include "taquin/error.hpp"

namespace taquin::detail {

namespace {

using form = exchange::form;

// One side as arguments of the MPI library's calls.
struct arguments {
  void* base;
  int count = 0;  // alltoall
  MPI_Datatype type = MPI_DATATYPE_NULL;
  const int* counts = nullptr;  // alltoallv, alltoallw
  const int* displs = nullptr;
  const MPI_Datatype* types = nullptr;  // alltoallw
};

// Blocks that are given by address: beyond int counts or displacements. And with one rank, because Open MPI 4.1 takes
// MPI_Alltoallw's displacements for multiples of the extent.
bool by_address(const shape& s) noexcept { return s.large || (s.kind == form::alltoallw && s.ranks == 1); }

// MPICH 4.2's collectives return MPI_ERR_IN_STATUS, of statuses that are not returned, if a message is too long.
void check_all(int code, const char* call) {
  if (code != MPI_SUCCESS && mpi::class_of(code) == MPI_ERR_IN_STATUS)
    throw mpi_error(fmt::format("{}: a message is longer than its receive block", call), MPI_ERR_TRUNCATE, code, call);
  mpi::check(code, call);
}

class native_operation final : public operation {
 public:
  native_operation(const exchange& x, const context& c, std::pmr::memory_resource* memory)
      : comm_(c.comm != nullptr ? c.comm->get() : x.comm),
        kind_(c.shape->large ? form::alltoallw : x.kind),
        ints_(memory),
        types_(memory),
        owned_(memory),
        ranks_(c.shape->ranks) {
    array_list::take(*this, *c.shape);
    const bool large = by_address(*c.shape);
    recv_ = large ? absolute(x.recv) : plain(x.recv, c.reused);
    send_ = x.in_place ? arguments{MPI_IN_PLACE} : large ? absolute(x.send) : plain(x.send, c.reused);
    if (x.in_place) bytes_ = 0;
    for (int peer = 0; peer < ranks_; ++peer)
      if (c.comm == nullptr || peer != c.comm->rank()) {
        bytes_ += static_cast<std::uint64_t>(x.send[peer].bytes());
        messages_ += x.send[peer].bytes() > 0 ? 1 : 0;
      }
  }

  native_operation(const native_operation&) = delete;
  native_operation& operator=(const native_operation&) = delete;
  // A collective cannot be cancelled: the MPI library may still read its arguments.
  ~native_operation() override {
    if (request_ == MPI_REQUEST_NULL || mpi::finalized()) return;
    int done = 0;
    PMPI_Test(&request_, &done, MPI_STATUS_IGNORE);
    if (done == 0) outlive(ints_.get_allocator().resource());
  }

  void start() override {
    const arguments& s = send_;
    const arguments& r = recv_;
    switch (kind_) {
      case form::alltoall:
        TAQUIN_MPI(PMPI_Ialltoall(s.base, s.count, s.type, r.base, r.count, r.type, comm_, &request_));
        break;
      case form::alltoallv:
        TAQUIN_MPI(
            PMPI_Ialltoallv(s.base, s.counts, s.displs, s.type, r.base, r.counts, r.displs, r.type, comm_, &request_));
        break;
      case form::alltoallw:
        TAQUIN_MPI(PMPI_Ialltoallw(s.base, s.counts, s.displs, s.types, r.base, r.counts, r.displs, r.types, comm_,
                                   &request_));
        break;
    }
  }

  bool test() override {
    int done = 0;
    TAQUIN_MPI(PMPI_Test(&request_, &done, MPI_STATUS_IGNORE));
    return done != 0;
  }

  void wait() override { mpi::complete(request_, "MPI_Wait"); }

  // MPI libraries tune their blocking collectives more than the nonblocking ones.
  void run() override {
    if (mpi::deadline::on()) {  // this rank's clock runs, and so do those of all
      start();
      return wait();
    }
    const arguments& s = send_;
    const arguments& r = recv_;
    switch (kind_) {
      case form::alltoall:
        check_all(PMPI_Alltoall(s.base, s.count, s.type, r.base, r.count, r.type, comm_), "MPI_Alltoall");
        break;
      case form::alltoallv:
        check_all(PMPI_Alltoallv(s.base, s.counts, s.displs, s.type, r.base, r.counts, r.displs, r.type, comm_),
                  "MPI_Alltoallv");
        break;
      case form::alltoallw:
        check_all(PMPI_Alltoallw(s.base, s.counts, s.displs, s.types, r.base, r.counts, r.displs, r.types, comm_),
                  "MPI_Alltoallw");
        break;
    }
  }

  // The MPI library's messages are not visible. Each block once is the least.
  void account(statistics& s) const override {
    s.rounds += 1;
    s.messages += messages_;
    s.bytes_sent += bytes_;
  }

 private:
  const int* ints(const count_view& v, bool keep) {
    if (v.narrow() != nullptr && !keep) return v.narrow();
    const std::size_t first = ints_.size();
    for (int i = 0; i < ranks_; ++i) ints_.push_back(static_cast<int>(v[i]));
    return ints_.data() + first;
  }

  arguments plain(const blocks& b, bool keep) {
    if (kind_ == form::alltoall) return {b.base, static_cast<int>(b.counts[0]), b.element.type};
    arguments a{b.base, 0, b.element.type, ints(b.counts, keep), ints(b.displs, keep)};
    if (kind_ == form::alltoallw) a.types = types_of(b);
    return a;
  }

  const MPI_Datatype* types_of(const blocks& b) {
    const std::size_t first = types_.size();
    for (int i = 0; i < ranks_; ++i) {
      const MPI_Datatype type = b.element_of(i).type;
      types_.push_back(type == MPI_DATATYPE_NULL ? MPI_BYTE : type);  // a null type is allowed for an empty block
    }
    return types_.data() + first;
  }

  // Beyond int counts or displacements.
  arguments absolute(const blocks& b) {
    const std::size_t first_int = ints_.size();
    const std::size_t first_type = types_.size();
    append_by_address(b, ranks_, ints_, types_, owned_);
    const std::size_t zeros = ints_.size();
    ints_.resize(zeros + as_size(ranks_), 0);
    return {
        MPI_BOTTOM, 0, MPI_DATATYPE_NULL, ints_.data() + first_int, ints_.data() + zeros, types_.data() + first_type};
  }

  MPI_Comm comm_;
  friend struct detail::array_list;
  template <class Each>
  static constexpr void arrays(Each each, const shape& s) {
    const auto ranks = as_size(s.ranks);
    each(&native_operation::ints_, at_most{4 * ranks});
    each(&native_operation::types_, at_most{2 * ranks});
    each(&native_operation::owned_, at_most{by_address(s) ? 4 * ranks : 0});
  }

  form kind_;
  std::pmr::vector<int> ints_;
  std::pmr::vector<MPI_Datatype> types_;
  std::pmr::vector<mpi::datatype> owned_;
  int ranks_;
  arguments send_{nullptr};
  arguments recv_{nullptr};
  MPI_Request request_ = MPI_REQUEST_NULL;
  std::uint64_t messages_ = 0;
  std::uint64_t bytes_ = 0;
};

// Open MPI's nonblocking MPI_Alltoallv and w wait for ever in place if some counts are zero (4.1.4).
bool native_supports(const shape& s) noexcept { return !s.in_place || (s.symmetric && s.kind == form::alltoall); }

std::size_t memory_of_native(const shape& s, const options&) noexcept {
  return sizeof(native_operation) + array_list::bytes<native_operation>(s);
}

// A rank of a plan that is inside the MPI library would not notice that another rank has failed to make its plan.
operation_ptr prepare_native(const exchange& x, const context& c, memory_budget& budget) {
  if (!c.reused || c.comm == nullptr) return make_operation<native_operation>(budget, x, c, &budget);
  operation_ptr made;
  try {
    made = make_operation<native_operation>(budget, x, c, &budget);
  } catch (const std::bad_alloc&) {
  }
  if (mpi::holds_everywhere(made != nullptr, c.comm->get())) return made;
  throw_lack_of_memory();
}

// A nonblocking collective makes a schedule of its own at each start.
seconds native_preparation(const shape& s, const options& o, const machine_model& m, bool reused) noexcept {
  return reused ? terms(s, m).packs(1, static_cast<double>(spread_out.memory(s, o))) : 0;
}

// As spread_out: MPI libraries send large blocks directly. Only a measurement shows where they are faster or slower.
seconds cost_of_native(const shape& s, const options&, const machine_model& m) noexcept {
  const terms t(s, m);
  if (s.in_place)  // pair by pair, through a buffer
    return t.rounds(t.ranks() - 1, 1, t.mean_block(), t.largest_block()) + t.copies(t.ranks(), t.busiest());
  return t.all_at_once();
}

}  // namespace

const algorithm native{
    .name = "native",
    .summary = "the MPI library's own collective",
    .source = "the MPI library",
    .rounds = "the MPI library's",
    .supports = native_supports,
    .memory = memory_of_native,
    .cost = cost_of_native,
    .preparation = native_preparation,
    .ends_by_itself = [](const shape&, const options&, std::size_t) noexcept { return true; },
    .prepare = prepare_native,
};

}  // namespace taquin::detail

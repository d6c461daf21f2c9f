// Layouts: how an n-dimensional array lies on the ranks of a communicator, and redistribution from one layout to
// another: pencils to slabs, a transpose, a block-cyclic matrix on another process grid.
#pragma once

#include <mpi.h>

#include <complex>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "taquin/element_types.hpp"
#include "taquin/options.hpp"
#include "taquin/types.hpp"

namespace taquin {

namespace detail {
struct layout_access;
struct layout_arguments;
class layout_mover;
}  // namespace detail

/// How one dimension of an array is distributed over the processes along one dimension of a process grid.
struct dimension {
  count_t extent = 0;  ///< indices 0 … extent − 1
  int processes = 1;   ///< along this dimension of the process grid
  /// Block-cyclic: indices per block, assigned to the processes cyclically. 0: one block per process, given by
  /// `bounds` or, where that is empty, even.
  count_t block = 0;
  int first = 0;                  ///< block-cyclic: the process that owns the first block
  std::vector<count_t> bounds{};  ///< given blocks: where each process's block begins, and the end of the last

  /// Not distributed: one process owns all.
  static dimension whole(count_t extent) { return {extent, 1, 0, 0, {}}; }
  /// One block per process; the first (extent mod processes) blocks are one longer. As 2DECOMP&FFT, mpi4py-fft and
  /// numpy.array_split cut.
  static dimension even(count_t extent, int processes) { return {extent, processes, 0, 0, {}}; }
  /// One block per process of ⌈extent / processes⌉ indices, the last ones shorter or empty. As FFTW, HPF's BLOCK and
  /// MPI_DISTRIBUTE_BLOCK cut.
  static dimension block_of(count_t extent, int processes) {
    return {extent, processes, processes > 0 && extent > 0 ? (extent - 1) / processes + 1 : 1, 0, {}};
  }
  /// One block per process of the given lengths, in order.
  static dimension given(std::span<const count_t> lengths);
  /// Index i belongs to process (i + first) mod processes.
  static dimension cyclic(count_t extent, int processes, int first = 0) { return {extent, processes, 1, first, {}}; }
  /// Block i/block belongs to process (i/block + first) mod processes. As ScaLAPACK and MPI_DISTRIBUTE_CYCLIC cut.
  static dimension block_cyclic(count_t extent, int processes, count_t block, int first = 0) {
    return {extent, processes, block, first, {}};
  }

  /// How many indices a process owns.
  [[nodiscard]] count_t owned(int process) const noexcept;
};

/// The order of an array's dimensions in memory, or of ranks in a process grid.
enum class storage_order : std::uint8_t {
  c,       ///< the last index changes fastest (row-major)
  fortran  ///< the first index changes fastest (column-major)
};

/// Choices for a redistribution between layouts, the same on all ranks; of `memory` the smallest one rules, and `stats`
/// is each rank's own.
struct layout_options {
  /// Extra bytes per rank that taquin may take. Default: 1 MiB, which is enough for full speed; more is not taken.
  std::size_t memory = std::size_t{1} << 20U;
  /// Dimension d of the source becomes dimension `axes[d]` of the target: {1, 0} transposes a matrix. Default: none is
  /// permuted.
  std::vector<int> axes{};
  /// A part of the arrays: its first index in the source, in the source's dimensions. Default: zeros.
  std::vector<count_t> from_begin{};
  /// The same in the target, in the target's dimensions. Default: zeros.
  std::vector<count_t> to_begin{};
  /// Its extent, in the source's dimensions. Default: all of the source.
  std::vector<count_t> extents{};
  /// Each number that moves is multiplied by this, in its own arithmetic. Integers take an integer of at most 2^53 (and
  /// wrap around), reals a real number; all elements must be numbers of one type. Default: 1.
  std::complex<double> scale{1.0, 0.0};
  /// Complex numbers are conjugated, before they are scaled: with `axes` {1, 0} it makes a conjugate transpose. Others
  /// stay as they are. Default: not.
  bool conjugate = false;
  /// Filled when set; must outlive the redistribution. Default: none.
  statistics* stats = nullptr;
  /// Selects progress between start and wait, as redistribute_options::progress.
  progress_by progress = progress_by::library;
  /// After `timeout`; default: the rank continues to wait.
  after_timeout on_timeout = after_timeout::wait;
  /// As in taquin::options.
  time_limit timeout{};
  /// The most chunks that a rank has sent and its peers have not received; 0, the default: 4.
  int in_flight = 0;
};

/// An n-dimensional array on a grid of processes: its dimensions, the ranks of the grid, and how each rank stores its
/// part. Ranks outside the grid hold nothing. A value; all its functions are local.
///
/// All ranks give the same layout, except for leading dimensions (`allocated`), which are each rank's own.
class layout {
 public:
  /// No dimensions: every rank's part is empty.
  layout() = default;
  /// Position k of the process grid, counted in `grid` order, is rank k; local arrays are stored in `storage` order
  /// without gaps.
  explicit layout(std::vector<dimension> dimensions, storage_order storage = storage_order::c,
                  storage_order grid = storage_order::c)
      : dimensions_(std::move(dimensions)), storage_(storage), grid_(grid) {}

  /// A matrix of ScaLAPACK: the entries of a descriptor for a dense matrix (m, n, mb, nb, rsrc, csrc, lld) and the
  /// process grid (nprow, npcol), whose ranks stand in `ranks`, column by column; empty: rank k is the k-th of them.
  static layout scalapack(count_t m, count_t n, count_t mb, count_t nb, int rsrc, int csrc, count_t lld, int nprow,
                          int npcol, std::span<const int> ranks = {});
  /// The layout of MPI_Type_create_darray with the same arguments (MPI_DISTRIBUTE_BLOCK, _CYCLIC, _NONE, with
  /// MPI_DISTRIBUTE_DFLT_DARG or a number; MPI_ORDER_C or _FORTRAN). The process grid is in C order, as MPI defines it.
  static layout darray(std::span<const int> gsizes, std::span<const int> distribs, std::span<const int> dargs,
                       std::span<const int> psizes, int order);

  /// The ranks of the grid's positions, in grid order. Each rank occurs once.
  layout& on_ranks(std::span<const int> ranks);
  /// This rank's local array has so many elements along each dimension, of which it uses the first ones (a leading
  /// dimension). 0, or empty: as many as it owns, and its halo.
  layout& allocated(std::span<const count_t> extents);
  /// Around its own elements, a rank's local array has `before` and `after` further elements along each dimension
  /// (halos, ghost cells), which are neither read nor written.
  layout& halo(std::span<const count_t> before, std::span<const count_t> after);
  /// Dimensions from the one that changes slowest in memory to the one that changes fastest.
  layout& stored(std::span<const int> axes);

  /// As given to the constructor.
  [[nodiscard]] const std::vector<dimension>& dimensions() const noexcept { return dimensions_; }
  /// Ranks in the process grid.
  [[nodiscard]] count_t processes() const noexcept;
  /// The elements that `rank` owns along each dimension; zeros where the rank is not in the grid.
  [[nodiscard]] std::vector<count_t> local_extents(int rank) const;
  /// The elements that the local array of `rank` must have room for, halos and leading dimensions included. (Leading
  /// dimensions are those of the calling rank.) 0 where the rank owns nothing.
  [[nodiscard]] count_t local_size(int rank) const;
  /// The rank that owns the element with this index, and where in its local array the element is, in elements.
  struct place {
    int rank;        ///< of the communicator
    count_t offset;  ///< elements from the beginning of its local array
  };
  /// The place of an element; `index` has one number for each dimension, and is inside the array.
  [[nodiscard]] place find(std::span<const count_t> index) const;
  /// The coordinates of `rank` in the process grid, one for each dimension; −1 each where it is not in the grid.
  [[nodiscard]] std::vector<int> coordinates(int rank) const;
  /// This layout with its grid's positions on other ranks of the `ranks` of a communicator, so that fewer elements
  /// change ranks when an array goes from `from` to it: two layouts that differ by a permutation of ranks move nothing.
  /// Where none is better, the layout as it is. `o`: the axes and the part that will move. All ranks get the same
  /// assignment from the same arguments. Leading dimensions stay as they were given, though this rank may hold another
  /// part now.
  ///
  /// Where positions × ranks are at most 512², no assignment moves fewer elements. Beyond, at least half as many stay
  /// on their ranks as in the best one. Time and memory grow with the pairs of a position and a rank that have elements
  /// in common, of which at most 2^22 are looked at: where there are more, as many for each position, of the ranks that
  /// have most along each dimension, and the bound is that of the best assignment of those. No more elements move than
  /// in the layout as it is. Local. Throws `usage_error` for layouts that redistribute() refuses on so many ranks.
  ///
  /// Source: Kabić, Pintarelli, Kozhevnikov, VandeVondele, COSTA: Communication-Optimal Shuffle and Transpose Algorithm
  /// with Process Relabeling, §3.
  [[nodiscard]] layout relabelled(const layout& from, int ranks, const layout_options& o = {}) const;
  /// The reason why it is invalid on a communicator of so many ranks; empty: it is valid.
  [[nodiscard]] std::string invalid_on(int ranks) const;

 private:
  friend struct detail::layout_access;
  std::vector<dimension> dimensions_{};
  storage_order storage_ = storage_order::c;
  storage_order grid_ = storage_order::c;
  std::vector<int> ranks_{};
  std::vector<int> by_rank_{};  // positions, in order of their ranks
  std::vector<int> axes_{};
  std::vector<count_t> allocated_{};
  std::vector<count_t> before_{};
  std::vector<count_t> after_{};
};

/// The elements that change ranks when an array goes from one layout to another; `o`: axes, and a part. Local. Throws
/// `usage_error` for layouts that redistribute() refuses.
[[nodiscard]] count_t elements_moved(const layout& from, const layout& to, const layout_options& o = {});

/// A redistribution from one layout to another that can run again and again, as a plan. Move-only.
///
/// Time and memory do not depend on the number of elements' indices: the common part of two ranks is computed dimension
/// by dimension, as products of runs.
class layout_redistribution {
 public:
  /// From the array `from_array` to `to_array`, which must not overlap. Each has room for as many elements of `type` as
  /// its layout's local_size() says; the type has no gaps. Elements of the target outside the part that moves keep
  /// their values. Collective; throws on every rank: `usage_error` for a layout that does not cover its array, names a
  /// rank twice or one that does not exist, for leading dimensions that are too small, sizes beyond 2^56 bytes, a part
  /// outside an array, a `scale` that does not suit the type, or layouts that differ between ranks; `budget_exceeded`
  /// where `o.memory` is less than needed ("needs at least N"). After an error that not all ranks have,
  /// failure::blocks() has the bytes of the target that have arrived; the source is as it was.
  layout_redistribution(const void* from_array, const layout& from, void* to_array, const layout& to, MPI_Datatype type,
                        MPI_Comm comm, const layout_options& o = {});
  /// In one array, as redistribute() has it: every run brings what is in `data`, as `from` has it, to `to`. Collective;
  /// throws as the other constructor does, with the array as it was. Everything is agreed and allocated here, so
  /// that a start refuses nothing.
  layout_redistribution(void* data, const layout& from, const layout& to, MPI_Datatype type, MPI_Comm comm,
                        const layout_options& o = {});
  /// Takes the other's place; the other can only be destroyed or assigned to.
  layout_redistribution(layout_redistribution&&) noexcept;
  /// The same; the previous content of this object is freed.
  layout_redistribution& operator=(layout_redistribution&&) noexcept;
  /// Frees its buffers. Local.
  ~layout_redistribution();

  /// Starts to move the data. Nonblocking; all ranks start their operations in the same order. Throws `usage_error` if
  /// it is started already.
  void start();
  /// Progresses; true when this rank has sent and received all (or nothing is started). Nonblocking.
  [[nodiscard]] bool test();
  /// Completes a started move.
  void wait();
  /// start() and wait(). Collective, blocking.
  void operator()();
  /// Continues with other arrays of the same layouts. Local. Throws `usage_error` for a redistribution in one array.
  void set_data(const void* from_array, void* to_array);
  /// The most scratch bytes in use at any time. Local.
  [[nodiscard]] std::size_t peak_memory() const noexcept;

 private:
  friend struct detail::layout_access;
  layout_redistribution(const detail::layout_arguments& x, const layout_options& o);
  std::unique_ptr<detail::layout_mover> mover_;
};

/// Moves an array from one layout to another, from `from_array` to `to_array`. Blocking, collective; arguments and
/// errors as layout_redistribution has them.
void redistribute(const void* from_array, const layout& from, void* to_array, const layout& to, MPI_Datatype type,
                  MPI_Comm comm, const layout_options& o = {});

/// Brings an array from one layout to another in its own memory. `data` has room for as many elements as the larger of
/// the two local_size() of this rank. Blocking, collective; arguments and errors as layout_redistribution has them, but
/// the whole array moves (no `from_begin`, `to_begin`, `extents`). Storage outside the target (halos, leading
/// dimensions, places that only the source had) has no meaning afterwards. After an error that all ranks have
/// (`collective()`) the array is as it was: everything is agreed and allocated before the first element moves. After
/// any other, failure::blocks() has the places of all whole bytes, in the array and in the target.
///
/// Scratch memory: at least about 4·√(n·p) + 300·p + 16 KiB bytes, for n bytes on the rank with most, of p ranks; where
/// axes change places, at least n/16384 and 64 KiB. At most 4·√(n·(p + 1)) + n/64 + min(n/4, 512 KiB) + 300·p + 25 KB
/// are used.
///
/// Sources: exchange in place: Hofmann, Rünger, An In-Place Algorithm for Irregular All-to-All Communication with
/// Limited Memory, §3.
void redistribute(void* data, const layout& from, const layout& to, MPI_Datatype type, MPI_Comm comm,
                  const layout_options& o = {});

namespace detail {
/// The same; `size`: elements that there is room for.
void redistribute_in_one_array(void* data, std::size_t size, const layout& from, const layout& to, MPI_Datatype type,
                               MPI_Comm comm, const layout_options& o);
/// From one array to another; the sizes of the arrays, in elements, are compared with the sizes that the layouts need.
void redistribute_sized(const void* from_array, std::size_t from_size, const layout& from, void* to_array,
                        std::size_t to_size, const layout& to, MPI_Datatype type, MPI_Comm comm,
                        const layout_options& o);
}  // namespace detail

/// The typed form. Throws `usage_error` on every rank also where a span is shorter than its layout's local_size().
template <class T>
void redistribute(std::span<const T> from_array, const layout& from, std::span<T> to_array, const layout& to,
                  MPI_Comm comm, const layout_options& o = {}) {
  detail::redistribute_sized(from_array.data(), from_array.size(), from, to_array.data(), to_array.size(), to,
                             datatype_of<T>(), comm, o);
}

/// The typed form in one array.
template <class T>
void redistribute(std::span<T> data, const layout& from, const layout& to, MPI_Comm comm,
                  const layout_options& o = {}) {
  detail::redistribute_in_one_array(data.data(), data.size(), from, to, datatype_of<T>(), comm, o);
}

}  // namespace taquin

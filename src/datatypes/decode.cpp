#include "datatypes/decode.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "base/sizes.hpp"
#include "datatypes/envelope.hpp"
#include "mpi/big_count.hpp"
#include "mpi/check.hpp"
#include "taquin/error.hpp"

namespace taquin::detail {

std::size_t loops_of(const tree& t) noexcept {
  std::size_t n = 1;
  for (const tree& child : t.children) n += child.children.empty() ? 1 : loops_of(child);
  return n;
}

namespace {

tree repeat(tree t, count_t n, count_t stride) {
  if (n == 0 || t.empty()) return {};
  if (n == 1) return t;
  if (t.one_run() && stride == t.length) {
    t.length *= n;
    return t;
  }
  if (t.length > 0 && t.count > 1 && stride == t.count * t.stride) {
    t.count *= n;
    return t;
  }
  if (t.count == 1) {
    t.count = n;
    t.stride = stride;
    return t;
  }
  tree outer{0, n, stride, 0, {}};
  outer.children.push_back(std::move(t));
  return outer;
}

tree shifted(tree t, count_t offset) {
  t.offset += offset;
  return t;
}

// Appends a run or a loop, joined with the last where that is possible.
void append(std::vector<tree>& list, tree t) {
  if (t.empty()) return;
  if (!list.empty() && t.one_run() && list.back().length > 0) {
    tree& last = list.back();
    if (last.count == 1 && last.offset + last.length == t.offset) {
      last.length += t.length;
      return;
    }
    if (last.length == t.length && (last.count == 1 || last.offset + last.count * last.stride == t.offset)) {
      last.stride = last.count == 1 ? t.offset - last.offset : last.stride;
      ++last.count;
      return;
    }
  }
  list.push_back(std::move(t));
}

tree sequence(std::vector<tree> list) {
  if (list.empty()) return {};
  if (list.size() == 1) return std::move(list[0]);
  return {0, 1, 0, 0, std::move(list)};
}

// Types side by side without gaps. The extent is set, because a struct may be padded.
signature joined(std::vector<signature> parts) {
  std::erase_if(parts, [](const signature& s) { return s.count == 0; });
  if (parts.empty()) return {};
  if (std::ranges::all_of(parts, [&](const signature& s) { return s.type == parts[0].type; })) {
    for (std::size_t i = 1; i < parts.size(); ++i) parts[0].count += parts[i].count;
    return std::move(parts[0]);
  }
  std::vector<int> lengths;
  std::vector<MPI_Aint> places;
  std::vector<MPI_Datatype> types;
  std::vector<mpi::datatype> owners;
  count_t at = 0;
  for (const signature& s : parts) {
    auto run = mpi::make_counted(s.count, s.type);
    lengths.push_back(run.count);
    places.push_back(at);
    types.push_back(run.type);
    at += s.count * mpi::size_of(s.type);
    owners.push_back(std::move(run.owner));
  }
  MPI_Datatype all = MPI_DATATYPE_NULL;
  TAQUIN_MPI(
      PMPI_Type_create_struct(static_cast<int>(parts.size()), lengths.data(), places.data(), types.data(), &all));
  const mpi::datatype padded(all);
  MPI_Datatype exact = MPI_DATATYPE_NULL;
  TAQUIN_MPI(PMPI_Type_create_resized(padded.get(), 0, at, &exact));
  mpi::datatype owner(exact);
  TAQUIN_MPI(PMPI_Type_commit(&exact));
  return {exact, 1, std::move(owner)};
}

signature times(signature s, count_t n) {
  s.count *= n;
  return s;
}

// The predefined types of a value and an int, which may have a gap between or behind.
std::optional<std::pair<MPI_Datatype, count_t>> pair_of(MPI_Datatype type) {
  struct with_int {
    MPI_Datatype type, value;
    count_t offset;
  };
  struct short_int {
    short value;
    int number;
  };
  struct long_int {
    long value;
    int number;
  };
  struct float_int {
    float value;
    int number;
  };
  struct double_int {
    double value;
    int number;
  };
  struct long_double_int {
    long double value;
    int number;
  };
  for (const auto& [pair, value, offset] :
       {with_int{MPI_SHORT_INT, MPI_SHORT, offsetof(short_int, number)},
        with_int{MPI_LONG_INT, MPI_LONG, offsetof(long_int, number)},
        with_int{MPI_FLOAT_INT, MPI_FLOAT, offsetof(float_int, number)},
        with_int{MPI_DOUBLE_INT, MPI_DOUBLE, offsetof(double_int, number)},
        with_int{MPI_LONG_DOUBLE_INT, MPI_LONG_DOUBLE, offsetof(long_double_int, number)},
        with_int{MPI_2INT, MPI_INT, sizeof(int)}})
    if (type == pair) return std::pair{value, offset};
  return std::nullopt;
}

decoded basic(MPI_Datatype type) {
  if (const auto pair = pair_of(type)) {
    const count_t first = mpi::size_of(pair->first);
    std::vector<tree> parts;
    append(parts, {0, 1, 0, first, {}});
    append(parts, {pair->second, 1, 0, mpi::size_of(MPI_INT), {}});
    std::vector<signature> signs;
    signs.push_back({pair->first, 1, {}});
    signs.push_back({MPI_INT, 1, {}});
    return {sequence(std::move(parts)), joined(std::move(signs))};
  }
  const count_t size = mpi::size_of(type);
  if (size == 0) return {};
  return {tree{0, 1, 0, size, {}}, signature{type, 1, {}}};
}

// The result of MPI_Type_get_contents; frees the types again. Large counts are presented as small ones.
struct contents {
  envelope made;
  bool too_long = false;  // without its contents
  std::vector<count_t> ints;
  std::vector<count_t> places;
  std::vector<MPI_Datatype> types;

  explicit contents(MPI_Datatype type) : made(type) {
    too_long = std::max<count_t>({made.ints / 2, made.places, made.counts / 2, made.types}) > count_t{2 * most_loops};
    if (leaf() || too_long) return;
    std::vector<int> numbers(as_size(made.ints));
    std::vector<MPI_Aint> bytes(as_size(made.places));
    types.resize(as_size(made.types), MPI_DATATYPE_NULL);
#if MPI_VERSION >= 4
    std::vector<MPI_Count> large(as_size(made.counts));
    TAQUIN_MPI(PMPI_Type_get_contents_c(type, made.ints, made.places, made.counts, made.types, numbers.data(),
                                        bytes.data(), large.data(), types.data()));
    if (!large.empty()) {
      take(numbers, large);
      return;
    }
#else
    TAQUIN_MPI(
        PMPI_Type_get_contents(type, made.ints, made.places, made.types, numbers.data(), bytes.data(), types.data()));
#endif
    ints.assign(numbers.begin(), numbers.end());
    places.assign(bytes.begin(), bytes.end());
  }
  contents(const contents&) = delete;
  contents& operator=(const contents&) = delete;
  ~contents() {
    for (MPI_Datatype& t : types)
      if (is_made(t)) PMPI_Type_free(&t);
  }
  // Not predefined, as far as the MPI library reports it: a type of unknown origin is not freed.
  static bool is_made(MPI_Datatype type) noexcept {
    try {
      return !is_leaf(envelope(type).combiner);
    } catch (const error&) {
      return false;
    }
  }
  [[nodiscard]] bool leaf() const { return is_leaf(made.combiner); }
  // Fortran's parametrised types are predefined types with a precision.
  static bool is_leaf(int combiner) {
    return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
           combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER;
  }

 private:
  // Large counts take the place of ints, and those behind them the place of byte displacements; arrays also have ints
  // before and behind.
  [[maybe_unused]] void take(std::span<const int> numbers, std::span<const MPI_Count> large) {
    const std::size_t before = made.combiner == MPI_COMBINER_SUBARRAY ? 1
                               : made.combiner == MPI_COMBINER_DARRAY ? 3
                                                                      : 0;
    ints.assign(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(before));
    const auto behind = large.begin() + static_cast<std::ptrdiff_t>(counted(large));
    ints.insert(ints.end(), large.begin(), behind);
    ints.insert(ints.end(), numbers.begin() + static_cast<std::ptrdiff_t>(before), numbers.end());
    places.assign(behind, large.end());
  }
  // How many of them are counts and not bytes.
  [[nodiscard]] std::size_t counted(std::span<const MPI_Count> large) const {
    switch (made.combiner) {
      case MPI_COMBINER_RESIZED:
        return 0;
      case MPI_COMBINER_HVECTOR:
      case MPI_COMBINER_HINDEXED_BLOCK:
        return 2;
      case MPI_COMBINER_HINDEXED:
      case MPI_COMBINER_STRUCT:
        return 1 + as_size(large[0]);
      default:
        return large.size();
    }
  }
};

// Blocks of one type: block i is lengths(i) elements at place(i) bytes.
template <class Length, class Place>
std::optional<decoded> indexed(decoded child, count_t extent, count_t n, Length length, Place place) {
  std::vector<tree> parts;
  const std::size_t each = loops_of(child.data);
  count_t elements = 0;
  for (count_t i = 0; i < n; ++i) {
    append(parts, shifted(repeat(child.data, length(i), extent), place(i)));
    if (parts.size() * each >= most_loops) return std::nullopt;
    elements += length(i);
  }
  return decoded{sequence(std::move(parts)), times(std::move(child.sign), elements)};
}

// Whether an argument from MPI_Type_get_contents is this constant. Open MPI 6.0 returns its own number for it to
// programs of MPI's standard ABI; no library uses that number for another value of this argument.
bool is(count_t reported, int constant, int open_mpi) noexcept { return reported == constant || reported == open_mpi; }
bool is_fortran(count_t order) noexcept { return is(order, MPI_ORDER_FORTRAN, 1); }

decoded subarray(decoded child, count_t extent, const count_t* ints) {
  const count_t dims = ints[0];
  const count_t* sizes = ints + 1;
  const count_t* subsizes = sizes + dims;
  const count_t* starts = subsizes + dims;
  const bool fortran = is_fortran(starts[dims]);
  count_t step = extent;
  for (count_t k = 0; k < dims; ++k) {
    const count_t d = fortran ? k : dims - 1 - k;
    child.data = shifted(repeat(std::move(child.data), subsizes[d], step), starts[d] * step);
    child.sign.count *= subsizes[d];
    step *= sizes[d];
  }
  return child;
}

// One dimension of a distributed array: blocks of `block` elements, `cycle` elements apart, of `global` in all.
decoded distributed(decoded child, count_t step, count_t global, count_t first, count_t block, count_t cycle) {
  const count_t whole = first + block > global ? 0 : (global - first - block) / cycle + 1;
  const count_t next = first + whole * cycle;
  const count_t rest = std::clamp<count_t>(global - next, 0, block);
  std::vector<tree> parts;
  append(parts, shifted(repeat(repeat(child.data, block, step), whole, cycle * step), first * step));
  append(parts, shifted(repeat(std::move(child.data), rest, step), next * step));
  return {sequence(std::move(parts)), times(std::move(child.sign), whole * block + rest)};
}

// MPI_Type_create_darray's arguments; processes are counted row by row, whatever the order of the array.
decoded darray(decoded child, count_t extent, const count_t* ints) {
  const count_t dims = ints[2];
  const count_t* sizes = ints + 3;
  const count_t* kinds = sizes + dims;
  const count_t* arguments = kinds + dims;
  const count_t* processes = arguments + dims;
  const bool fortran = is_fortran(processes[dims]);
  std::vector<count_t> place(as_size(dims));
  for (count_t d = dims, rest = ints[1]; d-- > 0; rest /= processes[d]) place[as_size(d)] = rest % processes[d];
  count_t step = extent;
  for (count_t k = 0; k < dims; ++k) {
    const count_t d = fortran ? k : dims - 1 - k;
    const count_t global = sizes[d];
    count_t block = global;
    if (!is(kinds[d], MPI_DISTRIBUTE_NONE, 2)) {
      const count_t without = is(kinds[d], MPI_DISTRIBUTE_BLOCK, 0) ? (global + processes[d] - 1) / processes[d] : 1;
      block = is(arguments[d], MPI_DISTRIBUTE_DFLT_DARG, -1) ? without : arguments[d];
    }
    const count_t first = place[as_size(d)] * block;
    child = distributed(std::move(child), step, global, first, block, processes[d] * block);
    step *= global;
  }
  return child;
}

std::optional<decoded> structure(const contents& c) {
  std::vector<tree> parts;
  std::vector<signature> signs;
  std::size_t loops = 1;
  for (std::size_t i = 0; i < c.types.size(); ++i) {
    auto child = decode_type(c.types[i]);
    if (!child || (loops += loops_of(child->data)) > most_loops) return std::nullopt;
    append(parts,
           shifted(repeat(std::move(child->data), c.ints[i + 1], mpi::extent_of(c.types[i]).extent), c.places[i]));
    signs.push_back(times(std::move(child->sign), c.ints[i + 1]));
  }
  return decoded{sequence(std::move(parts)), joined(std::move(signs))};
}

}  // namespace

std::optional<decoded> decode_type(MPI_Datatype type) {
  const contents c(type);
  if (c.leaf()) return basic(type);
  if (c.too_long) return std::nullopt;
  const int combiner = c.made.combiner;
  if (combiner == MPI_COMBINER_STRUCT) return structure(c);
  if (c.types.size() != 1) return std::nullopt;
  auto child = decode_type(c.types[0]);
  if (!child) return std::nullopt;
  const count_t extent = mpi::extent_of(c.types[0]).extent;
  const count_t* i = c.ints.data();
  const count_t n = c.ints.empty() ? 0 : i[0];
  switch (combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED:
      return child;
    case MPI_COMBINER_CONTIGUOUS:
      return decoded{repeat(std::move(child->data), n, extent), times(std::move(child->sign), n)};
    case MPI_COMBINER_VECTOR:
    case MPI_COMBINER_HVECTOR: {
      const count_t stride = combiner == MPI_COMBINER_VECTOR ? i[2] * extent : c.places[0];
      return decoded{repeat(repeat(std::move(child->data), i[1], extent), n, stride),
                     times(std::move(child->sign), n * i[1])};
    }
    case MPI_COMBINER_INDEXED:
      return indexed(
          std::move(*child), extent, n, [&](count_t k) { return i[1 + k]; },
          [&](count_t k) { return i[1 + n + k] * extent; });
    case MPI_COMBINER_HINDEXED:
      return indexed(
          std::move(*child), extent, n, [&](count_t k) { return i[1 + k]; },
          [&](count_t k) { return c.places[as_size(k)]; });
    case MPI_COMBINER_INDEXED_BLOCK:
      return indexed(
          std::move(*child), extent, n, [&](count_t) { return i[1]; }, [&](count_t k) { return i[2 + k] * extent; });
    case MPI_COMBINER_HINDEXED_BLOCK:
      return indexed(
          std::move(*child), extent, n, [&](count_t) { return i[1]; }, [&](count_t k) { return c.places[as_size(k)]; });
    case MPI_COMBINER_SUBARRAY:
      return subarray(std::move(*child), extent, i);
    case MPI_COMBINER_DARRAY:
      if (loops_of(child->data) << (2 * i[2]) > most_loops) return std::nullopt;
      return darray(std::move(*child), extent, i);
    default:
      return std::nullopt;
  }
}

}  // namespace taquin::detail

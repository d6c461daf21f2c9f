// Nested datatypes, generated at random from every constructor, those of MPI 4 with counts of MPI_Count as well.
#pragma once

#include <mpi.h>

#include <array>
#include <random>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "datatypes/envelope.hpp"

namespace taquin::test {

/// An argument that is an array, of the type that the function has there.
class numbers {
 public:
  template <class Array>
  explicit numbers(const Array& values) {
    std::apply([&](auto&... all) { (all.assign(values.begin(), values.end()), ...); }, all_);
  }
  template <class T>
  operator T*() {
    return std::get<std::vector<std::remove_const_t<T>>>(all_).data();
  }

 private:
  std::tuple<std::vector<int>, std::vector<long>, std::vector<long long>> all_;
};

/// A committed datatype and how it was made.
struct generated_type {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  std::string text;
};

// Calls a constructor of types, or its form with large counts.
#if MPI_VERSION >= 4
#define TAQUIN_TEST_MAKE(X, ...) (pick(0, 1) == 1 ? X##_c(__VA_ARGS__) : X(__VA_ARGS__))
#else
#define TAQUIN_TEST_MAKE(X, ...) X(__VA_ARGS__)
#endif

class type_generator {
 public:
  explicit type_generator(unsigned seed) : random_(seed) {}

  /// A type nested up to `depth` constructors deep; the caller frees it. Overlaps within the type only where `overlap`.
  generated_type make(int depth) {
    generated_type t = nested(depth);
    if (is_basic(t.type)) {
      MPI_Datatype copy = MPI_DATATYPE_NULL;
      MPI_Type_dup(t.type, &copy);
      t.type = copy;
    }
    MPI_Type_commit(&t.type);
    return t;
  }

 private:
  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }

  static bool is_basic(MPI_Datatype t) { return detail::envelope(t).combiner == MPI_COMBINER_NAMED; }
  static void drop(generated_type& t) {
    if (!is_basic(t.type)) MPI_Type_free(&t.type);
  }

  generated_type basic() {
    const std::array<std::pair<MPI_Datatype, const char*>, 9> types{{{MPI_CHAR, "char"},
                                                                     {MPI_SHORT, "short"},
                                                                     {MPI_INT, "int"},
                                                                     {MPI_DOUBLE, "double"},
                                                                     {MPI_FLOAT, "float"},
                                                                     {MPI_BYTE, "byte"},
                                                                     {MPI_DOUBLE_INT, "double_int"},
                                                                     {MPI_SHORT_INT, "short_int"},
                                                                     {MPI_C_DOUBLE_COMPLEX, "complex"}}};
    const auto& t = types[static_cast<std::size_t>(pick(0, 8))];
    return {t.first, t.second};
  }

  // Places that do not overlap: each at least `room` after the one before, in random order.
  std::vector<int> places(int n, int room) {
    std::vector<int> at;
    int next = pick(-3, 3) * room;
    for (int i = 0; i < n; ++i) {
      at.push_back(next);
      next += room * pick(1, 3);
    }
    if (pick(0, 1) == 1) std::shuffle(at.begin(), at.end(), random_);
    return at;
  }

  // One process' part of an array of up to three dimensions, never empty: the extent of nothing would be anything.
  MPI_Datatype distributed(MPI_Datatype child) {
    const int dims = pick(1, 3);
    std::vector<int> sizes;
    std::vector<int> kinds;
    std::vector<int> arguments;
    std::vector<int> processes;
    int all = 1;
    for (int d = 0; d < dims; ++d) {
      const int parts = pick(1, 3);
      const std::array<int, 3> any{MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_NONE};
      kinds.push_back(any[static_cast<std::size_t>(pick(0, 2))]);
      const bool whole = kinds.back() == MPI_DISTRIBUTE_NONE;
      processes.push_back(whole ? 1 : parts);
      sizes.push_back(parts * parts + pick(0, 3));
      const int least = kinds.back() == MPI_DISTRIBUTE_BLOCK ? (sizes.back() + parts - 1) / parts : pick(1, parts);
      arguments.push_back(whole || pick(0, 1) == 1 ? MPI_DISTRIBUTE_DFLT_DARG : least);
      all *= processes.back();
    }
    const int rank = pick(0, all - 1);
    const int order = pick(0, 1) == 1 ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
    MPI_Datatype made = MPI_DATATYPE_NULL;
    TAQUIN_TEST_MAKE(MPI_Type_create_darray, all, rank, dims, numbers(sizes), kinds.data(), arguments.data(),
                     processes.data(), order, child, &made);
    return made;
  }

  generated_type nested(int depth) {
    if (depth == 0) return basic();
    generated_type child = nested(depth - 1);
    MPI_Aint lb = 0;
    MPI_Aint extent = 0;
    MPI_Aint true_lb = 0;
    MPI_Aint true_extent = 0;
    MPI_Type_get_extent(child.type, &lb, &extent);
    MPI_Type_get_true_extent(child.type, &true_lb, &true_extent);
    MPI_Datatype made = MPI_DATATYPE_NULL;
    std::string name;
    const int n = pick(1, 4);
    const int block = pick(1, 3);
    switch (pick(0, 11)) {
      case 0:
        name = "contiguous";
        TAQUIN_TEST_MAKE(MPI_Type_contiguous, n, child.type, &made);
        break;
      case 1:
        name = "vector";
        TAQUIN_TEST_MAKE(MPI_Type_vector, n, block, block + pick(0, 2), child.type, &made);
        break;
      case 2:
        name = "hvector";
        TAQUIN_TEST_MAKE(MPI_Type_create_hvector, n, block, (extent > 0 ? extent : 1) * (block + 1) + pick(0, 5),
                         child.type, &made);
        break;
      case 3:
      case 4: {
        name = "indexed";
        std::vector<int> lengths;
        for (int i = 0; i < n; ++i)
          lengths.push_back(pick(i == 0 ? 1 : 0, 3));  // never empty: its extent would be anything
        const auto at = places(n, 3);
        TAQUIN_TEST_MAKE(MPI_Type_indexed, n, numbers(lengths), numbers(at), child.type, &made);
        break;
      }
      case 5: {
        name = "hindexed";
        std::vector<int> lengths;
        std::vector<MPI_Aint> at;
        for (const int p : places(n, 3)) lengths.push_back(pick(at.empty() ? 1 : 0, 3)), at.push_back(p * extent + 1);
        TAQUIN_TEST_MAKE(MPI_Type_create_hindexed, n, numbers(lengths), numbers(at), child.type, &made);
        break;
      }
      case 6: {
        name = "indexed_block";
        const auto at = places(n, block);
        TAQUIN_TEST_MAKE(MPI_Type_create_indexed_block, n, block, numbers(at), child.type, &made);
        break;
      }
      case 7: {
        name = "hindexed_block";
        std::vector<MPI_Aint> at;
        for (const int p : places(n, block)) at.push_back(p * extent);
        TAQUIN_TEST_MAKE(MPI_Type_create_hindexed_block, n, block, numbers(at), child.type, &made);
        break;
      }
      case 8: {
        name = "struct";
        generated_type other = nested(depth - 1);
        MPI_Aint other_lb = 0;
        MPI_Aint other_extent = 0;
        MPI_Type_get_true_extent(other.type, &other_lb, &other_extent);
        const std::array<int, 2> lengths{1, 1};
        const std::array<MPI_Aint, 2> at{0, true_lb + true_extent - other_lb + pick(0, 9)};
        const std::array<MPI_Datatype, 2> types{child.type, other.type};
        TAQUIN_TEST_MAKE(MPI_Type_create_struct, 2, numbers(lengths), numbers(at), types.data(), &made);
        name += "{" + other.text + "}";
        drop(other);
        break;
      }
      case 9: {
        name = "subarray";
        const std::array<int, 3> sizes{pick(1, 3), pick(2, 4), pick(1, 3)};
        std::array<int, 3> subsizes{};
        std::array<int, 3> starts{};
        for (std::size_t d = 0; d < 3; ++d) {
          subsizes[d] = pick(1, sizes[d]);
          starts[d] = pick(0, sizes[d] - subsizes[d]);
        }
        TAQUIN_TEST_MAKE(MPI_Type_create_subarray, 3, numbers(sizes), numbers(subsizes), numbers(starts),
                         pick(0, 1) == 1 ? MPI_ORDER_C : MPI_ORDER_FORTRAN, child.type, &made);
        break;
      }
      case 10:
        name = "darray";
        made = distributed(child.type);
        break;
      default:
        name = "resized";
        TAQUIN_TEST_MAKE(MPI_Type_create_resized, child.type, lb - pick(0, 7),
                         true_lb + true_extent - lb + 7 + pick(0, 16), &made);
        break;
    }
    const std::string text = name + "(" + child.text + ")";
    drop(child);
    return {made, text};
  }

  std::mt19937 random_;
};

}  // namespace taquin::test

// The arrays that a class takes from a memory resource, declared once. A class lists its arrays, each with its length
// as a function of the class's arguments; both its stated and its allocated bytes are computed from this list:
//
//   class table {
//    public:
//     static constexpr std::size_t bytes(int ranks) noexcept { return array_list::bytes<table>(ranks); }
//     table(int ranks, std::pmr::memory_resource* memory) : counts_(memory), places_(memory) {
//       array_list::take(*this, ranks);
//     }
//    private:
//     friend struct array_list;
//     template <class Each>
//     static constexpr void arrays(Each each, int ranks) {
//       each(&table::counts_, ranks);
//       each(&table::places_, at_most{2 * ranks});
//     }
//   };
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

namespace taquin::detail {

/// The length of an array that is filled one by one.
struct at_most {
  std::size_t n = 0;
};

struct array_list {
  /// Bytes of all arrays of a C that is made for `sizes`.
  template <class C, class... Sizes>
  static constexpr std::size_t bytes(const Sizes&... sizes) noexcept {
    std::size_t sum = 0;
    C::arrays(
        [&sum](auto array, auto n) { sum += of_array<std::remove_cvref_t<decltype(std::declval<C&>().*array)>>(n); },
        sizes...);
    return sum;
  }

  /// Gives all arrays of `c` their lengths.
  template <class C, class... Sizes>
  static void take(C& c, const Sizes&... sizes) {
    C::arrays([&c](auto array, auto n) { lengthen(c.*array, n); }, sizes...);
  }

 private:
  template <class Array>
  static constexpr std::size_t of_array(at_most length) noexcept {
    return length.n * sizeof(typename Array::value_type);  // NOLINT(bugprone-sizeof-expression): of pointers, too
  }
  template <class Array>
  static constexpr std::size_t of_array(std::size_t n) noexcept {
    if constexpr (requires { typename Array::value_type; }) {
      return n * sizeof(typename Array::value_type);
    } else {
      return Array::bytes(n);
    }
  }
  template <class Array>
  static void lengthen(Array& array, at_most length) {
    array.reserve(length.n);
  }
  template <class Array>
  static void lengthen(Array& array, std::size_t n) {
    if constexpr (requires { array.resize(n); }) {
      array.resize(n);
    } else {
      array.reset(n);
    }
  }
};

}  // namespace taquin::detail

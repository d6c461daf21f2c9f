// The datatypes of the tests: each with the bytes that it touches, so that buffers can be filled and compared without
// the MPI library.
#pragma once

#include <mpi.h>

#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "mpi/owned.hpp"
#include "taquin/exchange.hpp"

namespace taquin::test {

/// A datatype and where its data bytes lie, from the origin of an element, in the order in which they are sent.
struct test_type {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  std::vector<count_t> bytes;
  count_t extent = 0;
  mpi::datatype owner{};

  [[nodiscard]] count_t size() const { return static_cast<count_t>(bytes.size()); }
};

/// The types of the two sides of an exchange: the same signature, not always the same layout.
struct type_pair {
  test_type send;
  test_type recv;
};

/// How many elements a side may have in all where elements interleave.
inline constexpr int interleaved_elements = 256;

namespace type_detail {

constexpr auto word = static_cast<count_t>(sizeof(int));

inline std::vector<count_t> bytes_of_ints(const std::vector<count_t>& places) {
  std::vector<count_t> bytes;
  for (const count_t at : places)
    for (count_t i = 0; i < word; ++i) bytes.push_back(at + i);
  return bytes;
}

inline test_type own(MPI_Datatype type, std::vector<count_t> bytes, count_t extent) {
  MPI_Type_commit(&type);
  return {type, std::move(bytes), extent, mpi::datatype(type)};
}

inline test_type resized(MPI_Datatype inner, count_t lb, count_t extent, const std::vector<count_t>& places) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_create_resized(inner, lb, extent, &type);
  return own(type, bytes_of_ints(places), extent);
}

inline test_type plain_int() { return {MPI_INT, bytes_of_ints({0}), word}; }
inline test_type plain_byte() { return {MPI_BYTE, {0}, 1}; }

inline test_type contiguous_ints(int n) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(n, MPI_INT, &type);
  std::vector<count_t> places;
  for (int i = 0; i < n; ++i) places.push_back(i * word);
  return own(type, bytes_of_ints(places), n * word);
}

/// Two ints with a gap of one between them.
inline test_type with_gap() {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_vector(2, 1, 2, MPI_INT, &type);
  return own(type, bytes_of_ints({0, 2 * word}), 3 * word);
}

/// One int, then room for two.
inline test_type larger_extent() { return resized(MPI_INT, 0, 3 * word, {0}); }

/// An int before the origin and one after it, sent in this order.
inline test_type negative_lower_bound() {
  const std::array<int, 2> lengths{1, 1};
  const std::array<MPI_Aint, 2> places{-2 * word, word};
  const std::array<MPI_Datatype, 2> types{MPI_INT, MPI_INT};
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_create_struct(2, lengths.data(), places.data(), types.data(), &type);
  return own(type, bytes_of_ints({-2 * word, word}), 4 * word);
}

/// The later int first.
inline test_type backwards() {
  const std::array<int, 2> lengths{1, 1};
  const std::array<MPI_Aint, 2> places{word, 0};
  const std::array<MPI_Datatype, 2> types{MPI_INT, MPI_INT};
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_create_struct(2, lengths.data(), places.data(), types.data(), &type);
  return own(type, bytes_of_ints({word, 0}), 2 * word);
}

/// Rows of a matrix of two columns, stored by columns: elements interleave, and so do blocks.
inline test_type interleaved() {
  MPI_Datatype column = MPI_DATATYPE_NULL;
  MPI_Type_vector(2, 1, interleaved_elements, MPI_INT, &column);
  const mpi::datatype guard(column);
  return resized(column, 0, word, {0, interleaved_elements * word});
}

}  // namespace type_detail

/// Every kind of type, by name.
struct named_types {
  std::string_view name;
  type_pair (*make)();
  bool interleaves = false;
};

inline constexpr std::array all_types{
    named_types{"int",
                [] {
                  return type_pair{type_detail::plain_int(), type_detail::plain_int()};
                }},
    named_types{"byte",
                [] {
                  return type_pair{type_detail::plain_byte(), type_detail::plain_byte()};
                }},
    named_types{"contiguous",
                [] {
                  return type_pair{type_detail::contiguous_ints(3), type_detail::contiguous_ints(3)};
                }},
    named_types{"hole",
                [] {
                  return type_pair{type_detail::with_gap(), type_detail::with_gap()};
                }},
    named_types{"larger_extent",
                [] {
                  return type_pair{type_detail::larger_extent(), type_detail::larger_extent()};
                }},
    named_types{"two_layouts",
                [] {
                  return type_pair{type_detail::contiguous_ints(2), type_detail::with_gap()};
                }},
#ifndef TAQUIN_TEST_SIMULATED  // SMPI 3.32 itself takes the wrong bytes of structs that do not begin at their origin
    named_types{"negative_lower_bound",
                [] {
                  return type_pair{type_detail::negative_lower_bound(), type_detail::negative_lower_bound()};
                }},
    named_types{"backwards",
                [] {
                  return type_pair{type_detail::backwards(), type_detail::backwards()};
                }},
    named_types{"two_holes",
                [] {
                  return type_pair{type_detail::negative_lower_bound(), type_detail::with_gap()};
                }},
#endif
    named_types{"interleaved",
                [] {
                  return type_pair{type_detail::interleaved(), type_detail::interleaved()};
                },
                true},
};

}  // namespace taquin::test

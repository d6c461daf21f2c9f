// Numbers of every type, conjugated and scaled on the way between random layouts: from array to array, and in one.
#include <gtest/gtest.h>
#include <mpi.h>

#include <complex>
#include <cstring>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "layouts/problems.hpp"
#include "support/world.hpp"
#include "taquin/error.hpp"
#include "taquin/layout.hpp"

namespace taquin {
namespace {

using test::layout_case;

template <class T>
inline constexpr bool is_complex = false;
template <class Part>
inline constexpr bool is_complex<std::complex<Part>> = true;

// The case's elements have 8 bytes, which stand for a small number; products of those are exact.
template <class T>
T number(const std::byte* from) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, from, sizeof bits);
  const int re = static_cast<int>(bits % 7) - (std::is_unsigned_v<T> ? 0 : 3);
  if constexpr (is_complex<T>) {
    using part = typename T::value_type;
    return {static_cast<part>(re), static_cast<part>(static_cast<int>(bits / 7 % 5) - 2)};
  } else {
    return static_cast<T>(re);
  }
}

template <class T>
T changed(T v, std::complex<double> scale, bool conjugate) {
  if constexpr (is_complex<T>) {
    return (conjugate ? std::conj(v) : v) * T(scale);
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::int64_t>(v) * static_cast<std::int64_t>(scale.real()));
  } else {
    return v * static_cast<T>(scale.real());
  }
}

template <class T>
std::vector<T> numbers(const std::vector<std::byte>& bytes) {
  std::vector<T> all;
  for (std::size_t i = 0; i < bytes.size(); i += 8) all.push_back(number<T>(&bytes[i]));
  return all;
}

template <class T>
std::complex<double> some_scale(int turn) {
  if (is_complex<T>) return {0.5 * turn, turn % 2 == 0 ? 0.0 : -2.0};
  if constexpr (std::is_unsigned_v<T>)
    return 3.0;
  else if constexpr (std::is_integral_v<T>)
    return -2.0 - turn;
  else
    return -0.5;
}

// Elements of the target that do not move keep their values; in one array nothing is known of them.
template <class T>
void expect_changed(MPI_Datatype type, const std::string& what, unsigned seed) {
  std::mt19937 random(seed);
  auto pick = [&](int a, int b) { return std::uniform_int_distribution<int>(a, b)(random); };
  const int rank = test::rank_in(MPI_COMM_WORLD);
  const auto mine = static_cast<std::size_t>(rank);
  for (int turn = 0; turn < 6; ++turn) {
    layout_case c = test::some_case(pick, test::size_of(MPI_COMM_WORLD));
    c.element = 8;
    layout_options o = c.options;
    o.scale = some_scale<T>(turn);
    o.conjugate = turn % 3 == 1;
    if (turn == 3) o.memory = 8192;  // many chunks
    const std::vector<T> source = numbers<T>(c.before()[mine]);
    const auto after = c.after()[mine];
    std::vector<T> expected = numbers<T>(after);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const bool kept =
          std::all_of(&after[8 * i], &after[8 * i] + 8, [](std::byte b) { return b == layout_case::untouched; });
      expected[i] = kept ? T(1) : changed(expected[i], o.scale, o.conjugate);
    }
    std::vector<T> target(expected.size(), T(1));
    redistribute(source.data(), c.from.made, target.data(), c.to.made, type, MPI_COMM_WORLD, o);
    EXPECT_TRUE(target == expected) << what << ' ' << turn;
    if (!o.extents.empty()) continue;
    std::vector<T> one = source;
    one.resize(std::max(source.size(), expected.size()));
    o.memory = layout_options{}.memory;
    redistribute(one.data(), c.from.made, c.to.made, type, MPI_COMM_WORLD, o);
    std::size_t wrong = 0;
    for (const auto& p : c.to.places())
      if (p.rank == rank)
        wrong += one[static_cast<std::size_t>(p.offset)] != expected[static_cast<std::size_t>(p.offset)] ? 1 : 0;
    EXPECT_EQ(wrong, 0U) << what << ' ' << turn << " in one array";
  }
}

#define EXPECT_CHANGED(TYPE, ...) expect_changed<TYPE>(__VA_ARGS__, #__VA_ARGS__, __LINE__)

TEST(scaled_layouts, numbers_of_every_type_are_conjugated_and_scaled) {
  EXPECT_CHANGED(signed char, MPI_SIGNED_CHAR);
  EXPECT_CHANGED(unsigned char, MPI_UNSIGNED_CHAR);
  EXPECT_CHANGED(short, MPI_SHORT);
  EXPECT_CHANGED(unsigned short, MPI_UNSIGNED_SHORT);
  EXPECT_CHANGED(int, MPI_INT);
  EXPECT_CHANGED(unsigned, MPI_UNSIGNED);
  EXPECT_CHANGED(long, MPI_LONG);
  EXPECT_CHANGED(unsigned long, MPI_UNSIGNED_LONG);
  EXPECT_CHANGED(long long, MPI_LONG_LONG);
  EXPECT_CHANGED(unsigned long long, MPI_UNSIGNED_LONG_LONG);
  EXPECT_CHANGED(std::int8_t, MPI_INT8_T);
  EXPECT_CHANGED(std::int16_t, MPI_INT16_T);
  EXPECT_CHANGED(std::int32_t, MPI_INT32_T);
  EXPECT_CHANGED(std::int64_t, MPI_INT64_T);
  EXPECT_CHANGED(std::uint8_t, MPI_UINT8_T);
  EXPECT_CHANGED(std::uint16_t, MPI_UINT16_T);
  EXPECT_CHANGED(std::uint32_t, MPI_UINT32_T);
  EXPECT_CHANGED(std::uint64_t, MPI_UINT64_T);
  EXPECT_CHANGED(float, MPI_FLOAT);
  EXPECT_CHANGED(double, MPI_DOUBLE);
  EXPECT_CHANGED(long double, MPI_LONG_DOUBLE);
  EXPECT_CHANGED(std::complex<float>, MPI_C_FLOAT_COMPLEX);
  EXPECT_CHANGED(std::complex<double>, MPI_C_DOUBLE_COMPLEX);
  EXPECT_CHANGED(std::complex<long double>, MPI_C_LONG_DOUBLE_COMPLEX);
}

#ifdef __SIZEOF_FLOAT128__
__extension__ using quad = __float128;  // gfortran's real(16)
#endif

// Where the MPI library was built with Fortran.
template <class T>
void expect_of_fortran(MPI_Datatype type, const char* what, unsigned seed) {
  int bytes = 0;
  if (type != MPI_DATATYPE_NULL) MPI_Type_size(type, &bytes);
  if (bytes == sizeof(T)) expect_changed<T>(type, what, seed);
}

TEST(scaled_layouts, types_of_fortran_are_numbers_too) {
  expect_of_fortran<int>(MPI_INTEGER, "MPI_INTEGER", 1);
  expect_of_fortran<std::int8_t>(MPI_INTEGER1, "MPI_INTEGER1", 2);
  expect_of_fortran<std::int16_t>(MPI_INTEGER2, "MPI_INTEGER2", 3);
  expect_of_fortran<std::int32_t>(MPI_INTEGER4, "MPI_INTEGER4", 4);
  expect_of_fortran<std::int64_t>(MPI_INTEGER8, "MPI_INTEGER8", 5);
  expect_of_fortran<float>(MPI_REAL, "MPI_REAL", 6);
  expect_of_fortran<float>(MPI_REAL4, "MPI_REAL4", 7);
  expect_of_fortran<double>(MPI_DOUBLE_PRECISION, "MPI_DOUBLE_PRECISION", 8);
  expect_of_fortran<double>(MPI_REAL8, "MPI_REAL8", 9);
  expect_of_fortran<std::complex<float>>(MPI_COMPLEX, "MPI_COMPLEX", 10);
  expect_of_fortran<std::complex<double>>(MPI_DOUBLE_COMPLEX, "MPI_DOUBLE_COMPLEX", 11);
#ifdef __SIZEOF_FLOAT128__
  expect_of_fortran<quad>(MPI_REAL16, "MPI_REAL16", 13);
  expect_of_fortran<std::complex<quad>>(MPI_COMPLEX32, "MPI_COMPLEX32", 14);
#endif
  MPI_Datatype precise = MPI_DATATYPE_NULL;
  MPI_Type_create_f90_real(15, MPI_UNDEFINED, &precise);
  expect_of_fortran<double>(precise, "of 15 digits", 12);
}

TEST(scaled_layouts, types_made_of_one_kind_of_numbers_are_scaled) {
  MPI_Datatype pair = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(2, MPI_DOUBLE, &pair);
  MPI_Type_commit(&pair);
  const int ranks = test::size_of(MPI_COMM_WORLD);
  const layout even({dimension::even(10, ranks)});
  const layout cyclic({dimension::cyclic(10, ranks)});
  std::vector<double> a(static_cast<std::size_t>(2 * even.local_size(test::rank_in(MPI_COMM_WORLD))), 3.0);
  std::vector<double> b(static_cast<std::size_t>(2 * cyclic.local_size(test::rank_in(MPI_COMM_WORLD))));
  layout_options o;
  o.scale = 0.25;
  redistribute(a.data(), even, b.data(), cyclic, pair, MPI_COMM_WORLD, o);
  EXPECT_EQ(b, std::vector<double>(b.size(), 0.75));
  MPI_Type_free(&pair);
}

// The error of one rank is that of all, and nothing has moved.
TEST(scaled_layouts, what_cannot_be_scaled_is_refused_on_all_ranks) {
  const int ranks = test::size_of(MPI_COMM_WORLD);
  const int rank = test::rank_in(MPI_COMM_WORLD);
  const layout even({dimension::even(8, ranks)});
  const std::vector<std::complex<double>> a(8, 1.0);
  std::vector<std::complex<double>> b(8, 2.0);
  const auto refused = [&](MPI_Datatype type, std::complex<double> scale, bool conjugate, std::string_view text) {
    layout_options o;
    o.scale = scale;
    o.conjugate = conjugate;
    try {
      redistribute(a.data(), even, b.data(), even, type, MPI_COMM_WORLD, o);
      ADD_FAILURE() << "accepted: " << text;
    } catch (const usage_error& e) {
      EXPECT_TRUE(e.collective());
      EXPECT_NE(std::string_view(e.what()).find(text), std::string_view::npos) << e.what();
    }
    EXPECT_EQ(b, std::vector<std::complex<double>>(8, 2.0));
  };
  MPI_Datatype mixed = MPI_DATATYPE_NULL;
  const int lengths[] = {1, 2};
  const MPI_Aint places[] = {0, 8};
  const MPI_Datatype types[] = {MPI_DOUBLE, MPI_INT};
  MPI_Type_create_struct(2, lengths, places, types, &mixed);
  MPI_Type_commit(&mixed);
  for (const MPI_Datatype type : {MPI_BYTE, MPI_CHAR, MPI_C_BOOL, mixed}) {
    refused(type, 2.0, false, "not numbers of one type");
    refused(type, 1.0, true, "not numbers of one type");
  }
  MPI_Type_free(&mixed);
  refused(MPI_DOUBLE, {1, 1}, false, "real numbers cannot be scaled");
  refused(MPI_INT, {2, 1}, false, "real numbers cannot be scaled");
  refused(MPI_INT, 0.5, false, "integers cannot be scaled by 0.5");
  refused(MPI_INT, 1e300, false, "integers cannot be scaled by 1e+300");
  refused(rank == ranks - 1 ? MPI_BYTE : MPI_SIGNED_CHAR, 2.0, false, "not numbers of one type");
  if (ranks == 1) return;
  refused(MPI_DOUBLE, rank == 0 ? 2.0 : 3.0, false, "disagree");
  refused(MPI_DOUBLE, rank == 0 ? 2.0 : 1.0, false, "disagree");
  refused(MPI_C_DOUBLE_COMPLEX, 2.0, rank == 0, "disagree");
  refused(rank == 0 ? MPI_DOUBLE : MPI_INT64_T, 2.0, false, "disagree");
}

}  // namespace
}  // namespace taquin

#include "layouts/number_change.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <initializer_list>

#include "datatypes/decode.hpp"
#include "mpi/check.hpp"

namespace taquin::detail {

namespace {

#ifdef __SIZEOF_FLOAT128__
__extension__ using quad = __float128;
#else
using quad = long double;
#endif

bool is_one_of(MPI_Datatype type, std::initializer_list<MPI_Datatype> list) {
  for (const MPI_Datatype one : list)
    if (type == one) return true;
  return false;
}

bool is_integer(MPI_Datatype type) {
  return is_one_of(type,
                   {MPI_SIGNED_CHAR, MPI_UNSIGNED_CHAR, MPI_SHORT,         MPI_UNSIGNED_SHORT, MPI_INT,
                    MPI_UNSIGNED,    MPI_LONG,          MPI_UNSIGNED_LONG, MPI_LONG_LONG,      MPI_UNSIGNED_LONG_LONG,
                    MPI_INT8_T,      MPI_INT16_T,       MPI_INT32_T,       MPI_INT64_T,        MPI_UINT8_T,
                    MPI_UINT16_T,    MPI_UINT32_T,      MPI_UINT64_T,      MPI_AINT,           MPI_OFFSET,
                    MPI_COUNT,       MPI_INTEGER,       MPI_INTEGER1,      MPI_INTEGER2,       MPI_INTEGER4,
                    MPI_INTEGER8});
}
bool is_real(MPI_Datatype type) {
  return is_one_of(type, {MPI_FLOAT, MPI_DOUBLE, MPI_REAL, MPI_DOUBLE_PRECISION, MPI_REAL4, MPI_REAL8});
}
bool is_complex(MPI_Datatype type) {
  return is_one_of(type, {MPI_C_COMPLEX, MPI_C_FLOAT_COMPLEX, MPI_C_DOUBLE_COMPLEX, MPI_CXX_FLOAT_COMPLEX,
                          MPI_CXX_DOUBLE_COMPLEX, MPI_COMPLEX, MPI_DOUBLE_COMPLEX, MPI_COMPLEX8, MPI_COMPLEX16});
}

enum class family : std::uint8_t { none, integer, real, complex };

// Fortran's types of a precision (MPI_Type_create_f90_real) say in their combiner what they are.
family family_of(MPI_Datatype type) {
  if (is_integer(type)) return family::integer;
  if (is_real(type)) return family::real;
  if (is_complex(type)) return family::complex;
  int ints = 0;
  int places = 0;
  int types = 0;
  int combiner = MPI_COMBINER_NAMED;
  TAQUIN_MPI(PMPI_Type_get_envelope(type, &ints, &places, &types, &combiner));
  if (combiner == MPI_COMBINER_F90_INTEGER) return family::integer;
  if (combiner == MPI_COMBINER_F90_REAL) return family::real;
  return combiner == MPI_COMBINER_F90_COMPLEX ? family::complex : family::none;
}

number_kind kind_of_basic(MPI_Datatype type) {
  if (type == MPI_DATATYPE_NULL) return number_kind::none;
  if (type == MPI_LONG_DOUBLE) return number_kind::real_extended;
  if (is_one_of(type, {MPI_C_LONG_DOUBLE_COMPLEX, MPI_CXX_LONG_DOUBLE_COMPLEX})) return number_kind::complex_extended;
  if (type == MPI_REAL16) return number_kind::real_128;
  if (type == MPI_COMPLEX32) return number_kind::complex_128;
  const family f = family_of(type);
  if (f == family::none) return number_kind::none;
  int bytes = 0;
  TAQUIN_MPI(PMPI_Type_size(type, &bytes));
  switch (bytes) {
    case 1:
      return f == family::integer ? number_kind::integer_8 : number_kind::none;
    case 2:
      return f == family::integer ? number_kind::integer_16 : number_kind::none;
    case 4:
      return f == family::integer ? number_kind::integer_32
             : f == family::real  ? number_kind::real_32
                                  : number_kind::none;
    case 8:
      return f == family::integer ? number_kind::integer_64
             : f == family::real  ? number_kind::real_64
                                  : number_kind::complex_32;
    default:
      return f == family::complex && bytes == 16 ? number_kind::complex_64 : number_kind::none;
  }
}

template <class T>
void scale_all(std::byte* data, std::size_t bytes, T scale) noexcept {
  for (std::byte* const end = data + bytes; data != end; data += sizeof(T)) {
    T v;
    std::memcpy(&v, data, sizeof v);
    v = static_cast<T>(v * scale);
    std::memcpy(data, &v, sizeof v);
  }
}

template <class T>
void scale_all_complex(std::byte* data, std::size_t bytes, std::complex<double> scale, bool conjugate) noexcept {
  struct number {
    T re, im;
  };
  const auto re = static_cast<T>(scale.real());
  const auto im = static_cast<T>(scale.imag());
  const T sign = conjugate ? -1 : 1;
  for (std::byte* const end = data + bytes; data != end; data += sizeof(number)) {
    number v;
    std::memcpy(&v, data, sizeof v);
    v.im *= sign;
    // An infinite part of a number that is only conjugated, or scaled by a real number, leaves the other one finite.
    v = im == 0 ? number{v.re * re, v.im * re} : number{v.re * re - v.im * im, v.re * im + v.im * re};
    std::memcpy(data, &v, sizeof v);
  }
}

// The scale of integers, in arithmetic that wraps around. (16 bits are multiplied as int otherwise, which overflows.)
template <class T>
void scale_integers(std::byte* data, std::size_t bytes, double scale) noexcept {
  const auto factor = static_cast<std::uint32_t>(static_cast<std::uint64_t>(static_cast<std::int64_t>(scale)));
  for (std::byte* const end = data + bytes; data != end; data += sizeof(T)) {
    T v;
    std::memcpy(&v, data, sizeof v);
    v = static_cast<T>(v * factor);
    std::memcpy(data, &v, sizeof v);
  }
}

}  // namespace

number_kind number_kind_of(MPI_Datatype type) {
  if (const number_kind kind = kind_of_basic(type); kind != number_kind::none) return kind;
  const auto decoded = decode_type(type);
  return decoded ? kind_of_basic(decoded->sign.type) : number_kind::none;
}

std::string number_change::invalid(number_kind kind, const layout_options& o) {
  if (!is_requested(o)) return {};
  if (kind == number_kind::none) return "the elements are not numbers of one type: they cannot be scaled or conjugated";
  if (kind >= number_kind::complex_32) return {};
  if (o.scale.imag() != 0)
    return fmt::format("real numbers cannot be scaled by {} + {}i", o.scale.real(), o.scale.imag());
  constexpr double most = 1LL << 53U;
  const bool whole = std::abs(o.scale.real()) <= most && std::trunc(o.scale.real()) == o.scale.real();
  if (kind <= number_kind::integer_64 && !whole) return fmt::format("integers cannot be scaled by {}", o.scale.real());
  return {};
}

void number_change::apply(std::byte* data, std::size_t bytes) const noexcept {
  const double re = scale_.real();
  switch (kind_) {
    case number_kind::none:
      return;
    case number_kind::integer_8:
      return scale_integers<std::uint8_t>(data, bytes, re);
    case number_kind::integer_16:
      return scale_integers<std::uint16_t>(data, bytes, re);
    case number_kind::integer_32:
      return scale_integers<std::uint32_t>(data, bytes, re);
    case number_kind::integer_64:
      return scale_all(data, bytes, static_cast<std::uint64_t>(static_cast<std::int64_t>(re)));
    case number_kind::real_32:
      return scale_all(data, bytes, static_cast<float>(re));
    case number_kind::real_64:
      return scale_all(data, bytes, re);
    case number_kind::real_extended:
      return scale_all(data, bytes, static_cast<long double>(re));
    case number_kind::real_128:
      return scale_all(data, bytes, static_cast<quad>(re));
    case number_kind::complex_32:
      return scale_all_complex<float>(data, bytes, scale_, conjugate_);
    case number_kind::complex_64:
      return scale_all_complex<double>(data, bytes, scale_, conjugate_);
    case number_kind::complex_extended:
      return scale_all_complex<long double>(data, bytes, scale_, conjugate_);
    case number_kind::complex_128:
      return scale_all_complex<quad>(data, bytes, scale_, conjugate_);
  }
}

void number_change::add_to(fingerprint& all) const noexcept {
  all.add(kind_);
  if (kind_ == number_kind::none) return;
  all.add(conjugate_);
  all.add(std::bit_cast<std::uint64_t>(scale_.real()));
  all.add(std::bit_cast<std::uint64_t>(scale_.imag()));
}

}  // namespace taquin::detail

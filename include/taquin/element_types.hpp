// Which MPI datatype stands for a C++ type: MPI's own for numbers, and the bytes of types of the program.
#pragma once

#include <mpi.h>

#include <complex>
#include <cstddef>
#include <memory>
#include <ranges>
#include <type_traits>

#include "taquin/language.hpp"

namespace taquin {

namespace detail {

/// MPI's own datatype for T, or MPI_DATATYPE_NULL.
template <class U>
MPI_Datatype basic_type() {
  if constexpr (std::is_same_v<U, char>)
    return MPI_CHAR;
  else if constexpr (std::is_same_v<U, signed char>)
    return MPI_SIGNED_CHAR;
  else if constexpr (std::is_same_v<U, unsigned char>)
    return MPI_UNSIGNED_CHAR;
  else if constexpr (std::is_same_v<U, std::byte>)
    return MPI_BYTE;
  else if constexpr (std::is_same_v<U, bool>)
    return MPI_CXX_BOOL;
  else if constexpr (std::is_same_v<U, wchar_t>)
    return MPI_WCHAR;
  else if constexpr (std::is_same_v<U, short>)
    return MPI_SHORT;
  else if constexpr (std::is_same_v<U, unsigned short>)
    return MPI_UNSIGNED_SHORT;
  else if constexpr (std::is_same_v<U, int>)
    return MPI_INT;
  else if constexpr (std::is_same_v<U, unsigned>)
    return MPI_UNSIGNED;
  else if constexpr (std::is_same_v<U, long>)
    return MPI_LONG;
  else if constexpr (std::is_same_v<U, unsigned long>)
    return MPI_UNSIGNED_LONG;
  else if constexpr (std::is_same_v<U, long long>)
    return MPI_LONG_LONG;
  else if constexpr (std::is_same_v<U, unsigned long long>)
    return MPI_UNSIGNED_LONG_LONG;
  else if constexpr (std::is_same_v<U, float>)
    return MPI_FLOAT;
  else if constexpr (std::is_same_v<U, double>)
    return MPI_DOUBLE;
  else if constexpr (std::is_same_v<U, long double>)
    return MPI_LONG_DOUBLE;
  else if constexpr (std::is_same_v<U, std::complex<float>>)
    return MPI_C_FLOAT_COMPLEX;
  else if constexpr (std::is_same_v<U, std::complex<double>>)
    return MPI_C_DOUBLE_COMPLEX;
  else
    return MPI_DATATYPE_NULL;
}

template <class U>
inline constexpr bool is_basic = std::is_arithmetic_v<U> || std::is_same_v<U, std::byte> ||
                                 std::is_same_v<U, std::complex<float>> || std::is_same_v<U, std::complex<double>>;

/// A committed datatype of the bytes of one T, made at its first use and freed by MPI_Finalize.
template <class U>
MPI_Datatype bytes_of() {
  static const MPI_Datatype type = [] {
    MPI_Datatype made = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(static_cast<int>(sizeof(U)), MPI_BYTE, &made);
    MPI_Type_commit(&made);
    int key = MPI_KEYVAL_INVALID;
    MPI_Comm_create_keyval(
        MPI_COMM_NULL_COPY_FN,
        [](MPI_Comm, int, void* value, void*) {
          const std::unique_ptr<MPI_Datatype> kept(static_cast<MPI_Datatype*>(value));
          return MPI_Type_free(kept.get());
        },
        &key, nullptr);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, new MPI_Datatype(made));
    MPI_Comm_free_keyval(&key);
    return made;
  }();
  return type;
}

}  // namespace detail

/// Whether a type of the program travels as its bytes. By default: trivially copyable types that are neither pointers
/// nor views. Members that are pointers cannot be seen: specialize it as std::false_type for a type that has any, so
/// that an address is never sent to another process, and as std::true_type to allow what is refused by default.
template <class T>
struct travels_as_bytes
    : std::bool_constant<std::is_trivially_copyable_v<T> && !std::is_pointer_v<T> && !std::is_member_pointer_v<T> &&
                         !std::is_null_pointer_v<T> && !std::ranges::view<T>> {};

/// Types whose values can be exchanged by the typed calls: numbers, and types that are sent as their bytes.
template <class T>
concept transferable = detail::is_basic<std::remove_cv_t<T>> || travels_as_bytes<std::remove_cv_t<T>>::value;

namespace detail {

/// A single error message for a type that cannot be sent.
template <class T>
struct travelling {
  static_assert(transferable<T>,
                "taquin sends numbers and structs of numbers: this element is neither (a string, pair, pointer or view "
                "is not); send a struct of its parts, or specialize taquin::travels_as_bytes if its bytes mean the "
                "same in another process");
  static constexpr bool refused = !transferable<T>;
};

}  // namespace detail

/// The MPI datatype of T: MPI's own for arithmetic and complex types, otherwise one of the bytes of T.
template <class T>
MPI_Datatype datatype_of() {
  using U = std::remove_cv_t<T>;
  if constexpr (detail::travelling<U>::refused)
    return MPI_DATATYPE_NULL;
  else if constexpr (detail::is_basic<U>)
    return detail::basic_type<U>();
  else
    return detail::bytes_of<U>();
}

}  // namespace taquin

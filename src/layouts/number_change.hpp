// Numbers that are conjugated and scaled on their way from one layout to another.
#pragma once

#include <mpi.h>

#include <complex>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/fingerprint.hpp"
#include "taquin/layout.hpp"

namespace taquin::detail {

/// Signed and unsigned integers are multiplied in the same way.
enum class number_kind : std::uint8_t {
  none,
  integer_8,
  integer_16,
  integer_32,
  integer_64,
  real_32,
  real_64,
  real_extended,  ///< long double
  real_128,
  complex_32,  ///< of 32 bits for each part
  complex_64,
  complex_extended,
  complex_128
};

/// The kind of the numbers that the elements of a committed type consist of; none: they are of several kinds, or no
/// numbers. May allocate. Throws mpi_error.
number_kind number_kind_of(MPI_Datatype type);

class number_change {
 public:
  /// None.
  number_change() = default;
  /// Of valid arguments.
  number_change(number_kind kind, const layout_options& o) noexcept
      : kind_(is_requested(o) ? kind : number_kind::none), conjugate_(o.conjugate), scale_(o.scale) {}

  static bool is_requested(const layout_options& o) noexcept { return o.conjugate || o.scale != 1.0; }
  /// The error in the options for numbers of this kind; empty: none.
  static std::string invalid(number_kind kind, const layout_options& o);

  [[nodiscard]] explicit operator bool() const noexcept { return kind_ != number_kind::none; }
  [[nodiscard]] number_kind kind() const noexcept { return kind_; }
  /// Changes so many bytes of numbers.
  void apply(std::byte* data, std::size_t bytes) const noexcept;
  /// Everything that must be the same on all ranks.
  void add_to(fingerprint& all) const noexcept;

 private:
  number_kind kind_ = number_kind::none;
  bool conjugate_ = false;
  std::complex<double> scale_{1.0, 0.0};
};

}  // namespace taquin::detail

// A redistribution between layouts that has been prepared: between two arrays, or in one.
#pragma once

#include <cstddef>

namespace taquin::detail {

class layout_mover {
 public:
  layout_mover() = default;
  layout_mover(const layout_mover&) = delete;
  layout_mover& operator=(const layout_mover&) = delete;
  virtual ~layout_mover() = default;

  virtual void start() = 0;
  /// True when it is complete, or was not started.
  virtual bool test() = 0;
  virtual void wait() = 0;
  virtual void set_data(const void* from_array, void* to_array) = 0;
  /// Bytes of scratch memory.
  [[nodiscard]] virtual std::size_t peak() const noexcept = 0;
};

}  // namespace taquin::detail

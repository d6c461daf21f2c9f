// Attributes of a communicator's state: objects of upper layers that live as long as the state.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <utility>

namespace taquin::mpi {

class slots;

/// The key of an attribute of type T: an object with static lifetime, `inline static const slot<thing> kept_as;`. It
/// has the next number, so that a lookup costs no search. A key is a member of a class that other files could see,
/// because the count of keys is such a variable, too: if several libraries with taquin inside are loaded, the linker
/// makes the two of one copy, or neither.
template <typename T>
class slot {
 public:
  slot() noexcept;

 private:
  friend class slots;
  std::size_t number_;
};

/// The objects that were put under keys. Destroyed in reverse order of put(): an object made from another goes first.
class slots {
 public:
  slots() noexcept = default;
  slots(const slots&) = delete;
  slots& operator=(const slots&) = delete;
  ~slots() { clear(); }

  /// Destroys all of them. put() is not called after that.
  void clear() noexcept {
    while (used_ > 0) all_[order_[--used_]] = nullptr;
  }

  /// put() was called, with null perhaps.
  template <typename T>
  [[nodiscard]] bool has(const slot<T>& key) const noexcept {
    return (was_put_ >> key.number_ & 1U) != 0;
  }
  /// The object that was put last, or null.
  template <typename T>
  [[nodiscard]] T* get(const slot<T>& key) const noexcept {
    // put() takes a T: const where T is.
    return static_cast<T*>(
        const_cast<void*>(all_[key.number_].get()));  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  }
  template <typename T>
  [[nodiscard]] std::shared_ptr<T> share(const slot<T>& key) const noexcept {
    return {all_[key.number_], get(key)};
  }
  /// Replaces the previous object.
  template <typename T>
  T* put(const slot<T>& key, std::shared_ptr<T> what) noexcept {
    if (!has(key)) order_[used_++] = static_cast<std::uint8_t>(key.number_);
    was_put_ |= 1U << key.number_;
    all_[key.number_] = std::move(what);
    return get(key);
  }

 private:
  template <typename T>
  friend class slot;
  static constexpr std::size_t most = 6;
  static std::size_t next_number() noexcept {
    static std::size_t next = 0;
    if (next == most) std::abort();  // make `most` larger, or see that no key is known in one file only
    return next++;
  }

  std::array<std::shared_ptr<const void>, most> all_;
  std::array<std::uint8_t, most> order_{};  // numbers, as they were first put
  std::uint32_t was_put_ = 0;               // a bit for each number
  std::uint32_t used_ = 0;
};

template <typename T>
slot<T>::slot() noexcept : number_(slots::next_number()) {}

}  // namespace taquin::mpi

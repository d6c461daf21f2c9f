// Things of upper floors that live as long as a communicator's state does.
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <memory>
#include <utility>

namespace taquin::mpi {

/// The key of a thing of type T. Its address tells keys apart, so each is one object of the whole program:
/// `static constexpr slot<thing> key{};`.
template <typename T>
struct slot {};

/// What has been put under keys. Destroyed last put first: what was made of another thing goes before that.
class slots {
 public:
  slots() noexcept = default;
  slots(const slots&) = delete;
  slots& operator=(const slots&) = delete;
  ~slots() {
    while (used_ > 0) all_[--used_].what = nullptr;
  }

  /// Something was put, null perhaps.
  template <typename T>
  [[nodiscard]] bool has(const slot<T>& key) const noexcept {
    return find(&key) < used_;
  }
  /// What was put last, or null.
  template <typename T>
  [[nodiscard]] T* get(const slot<T>& key) const noexcept {
    const std::size_t i = find(&key);
    return i < used_ ? as<T>(all_[i].what.get()) : nullptr;
  }
  template <typename T>
  [[nodiscard]] std::shared_ptr<T> share(const slot<T>& key) const noexcept {
    const std::size_t i = find(&key);
    return i < used_ ? std::shared_ptr<T>(all_[i].what, as<T>(all_[i].what.get())) : nullptr;
  }
  /// Keeps it instead of what was there.
  template <typename T>
  T* put(const slot<T>& key, std::shared_ptr<T> what) noexcept {
    const std::size_t i = find(&key);
    assert(i < all_.size() && "make `most` larger");
    T* const there = what.get();
    all_[i] = {&key, std::move(what)};
    if (i == used_) ++used_;
    return there;
  }

 private:
  static constexpr std::size_t most = 6;
  struct entry {
    const void* key = nullptr;
    std::shared_ptr<const void> what;
  };

  // put() takes what it gives: const where T is.
  template <typename T>
  static T* as(const void* what) noexcept {
    return static_cast<T*>(const_cast<void*>(what));  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  }
  [[nodiscard]] std::size_t find(const void* key) const noexcept {
    std::size_t i = 0;
    while (i < used_ && all_[i].key != key) ++i;
    return i;
  }

  std::array<entry, most> all_;
  std::size_t used_ = 0;
};

}  // namespace taquin::mpi

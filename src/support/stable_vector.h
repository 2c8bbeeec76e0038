#pragma once
#include <bit>
#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace depyf {

/// A sequence that grows without moving its items, in pieces of N of them: where an item lies is a
/// shift and a mask away.
template <class T, std::size_t N>
class StableVector {
  static_assert(std::is_trivially_destructible_v<T> &&
                alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__ && std::has_single_bit(N));

 public:
  StableVector() = default;
  StableVector(StableVector&& other) noexcept
      : pieces_(std::move(other.pieces_)), size_(std::exchange(other.size_, 0)) {}
  StableVector& operator=(StableVector&& other) noexcept {
    pieces_ = std::move(other.pieces_);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](std::size_t i) { return *at(i); }
  const T& operator[](std::size_t i) const { return *at(i); }

  T& push_back(const T& item) {
    if (size_ == N * pieces_.size()) [[unlikely]]
      add_piece();
    return *::new (static_cast<void*>(at(size_++))) T(item);
  }

 private:
  [[gnu::noinline]] void add_piece() {
    pieces_.push_back(std::make_unique_for_overwrite<std::byte[]>(N * sizeof(T)));
  }
  T* at(std::size_t i) const { return reinterpret_cast<T*>(pieces_[i / N].get()) + i % N; }

  std::vector<std::unique_ptr<std::byte[]>> pieces_;
  std::size_t size_ = 0;
};

}  // namespace depyf

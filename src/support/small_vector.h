#pragma once
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

namespace depyf {

/// A vector of trivially copyable T whose first N items need no allocation: for lists that are
/// short nearly always, and for work lists.
template <class T, std::size_t N>
class SmallVector {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  using value_type = T;

  SmallVector() = default;
  explicit SmallVector(std::size_t size) { resize(size); }
  SmallVector(std::initializer_list<T> items) {
    for (const T& item : items) push_back(item);
  }
  SmallVector(SmallVector&& other) noexcept { take(other); }
  SmallVector& operator=(SmallVector&& other) noexcept {
    if (this != &other) take(other);
    return *this;
  }
  SmallVector(const SmallVector&) = delete;
  SmallVector& operator=(const SmallVector&) = delete;

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return items_; }
  const T* data() const { return items_; }
  T* begin() { return items_; }
  T* end() { return items_ + size_; }
  const T* begin() const { return items_; }
  const T* end() const { return items_ + size_; }
  T& operator[](std::size_t i) { return items_[i]; }
  const T& operator[](std::size_t i) const { return items_[i]; }
  T& front() { return items_[0]; }
  const T& front() const { return items_[0]; }
  T& back() { return items_[size_ - 1]; }
  const T& back() const { return items_[size_ - 1]; }

  void push_back(const T& item) {
    const T copy = item;  // may lie in here
    if (size_ == capacity_) [[unlikely]]
      grow(size_ + 1);
    items_[size_++] = copy;
  }
  void pop_back(std::size_t n = 1) { size_ -= n; }
  void clear() { size_ = 0; }
  void erase(std::size_t first, std::size_t last) {
    std::copy(items_ + last, items_ + size_, items_ + first);
    size_ -= last - first;
  }
  void insert(std::size_t at, std::span<const T> items) {
    append(items);
    std::rotate(items_ + at, items_ + size_ - items.size(), items_ + size_);
  }
  void append(std::span<const T> items) {
    if (size_ + items.size() > capacity_) [[unlikely]]
      grow(size_ + items.size());
    std::copy(items.begin(), items.end(), items_ + size_);
    size_ += items.size();
  }
  /// Items that are added are T().
  void resize(std::size_t size) {
    if (size > capacity_) [[unlikely]]
      grow(size);
    if (size > size_) std::fill(items_ + size_, items_ + size, T());
    size_ = size;
  }

 private:
  /// Out of line, so that what adds an item stays small.
  [[gnu::noinline]] void grow(std::size_t least) {
    const std::size_t capacity = std::max(least, 2 * capacity_);
    std::unique_ptr<T[]> heap = std::make_unique_for_overwrite<T[]>(capacity);
    std::copy(items_, items_ + size_, heap.get());
    heap_ = std::move(heap);
    items_ = heap_.get();
    capacity_ = capacity;
  }
  void take(SmallVector& other) {
    heap_ = std::move(other.heap_);
    size_ = other.size_;
    capacity_ = heap_ ? other.capacity_ : N;
    items_ = heap_ ? heap_.get() : inline_.items;
    if (!heap_) std::copy(other.inline_.items, other.inline_.items + size_, inline_.items);
    other.items_ = other.inline_.items;
    other.size_ = 0;
    other.capacity_ = N;
  }

  /// Left as it is until items come, whatever T() is.
  union Inline {
    Inline() {}
    T items[N];
  };

  T* items_ = inline_.items;
  std::size_t size_ = 0, capacity_ = N;
  std::unique_ptr<T[]> heap_;
  Inline inline_;
};

}  // namespace depyf

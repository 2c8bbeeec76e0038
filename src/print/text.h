#pragma once
#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>

namespace depyf {

/// Text that grows at its end, mostly by a few bytes: those are copied without a call.
class Text {
 public:
  std::size_t size() const { return size_; }
  char operator[](std::size_t at) const { return bytes_[at]; }
  char back() const { return bytes_[size_ - 1]; }
  std::string_view view(std::size_t from = 0) const { return {bytes_.get() + from, size_ - from}; }

  void append(std::string_view piece) {
    const std::size_t size = piece.size();
    if (capacity_ - size_ < size) grow(size);
    char* to = bytes_.get() + size_;
    const char* from = piece.data();
    // Two copies that overlap make any size between one of them and both.
    if (size > 16) {
      std::memcpy(to, from, size);
    } else if (size >= 8) {
      std::memcpy(to, from, 8);
      std::memcpy(to + size - 8, from + size - 8, 8);
    } else if (size >= 4) {
      std::memcpy(to, from, 4);
      std::memcpy(to + size - 4, from + size - 4, 4);
    } else if (size != 0) {
      to[0] = from[0];
      to[size / 2] = from[size / 2];
      to[size - 1] = from[size - 1];
    }
    size_ += size;
  }
  void append(std::size_t count, char c) {
    if (capacity_ - size_ < count) grow(count);
    std::memset(bytes_.get() + size_, c, count);
    size_ += count;
  }
  Text& operator+=(std::string_view piece) {
    append(piece);
    return *this;
  }
  Text& operator+=(char c) {
    if (size_ == capacity_) grow(1);
    bytes_[size_++] = c;
    return *this;
  }
  void pop_back() { --size_; }
  /// Drops all but the first `size` bytes.
  void shorten(std::size_t size) { size_ = size; }

 private:
  void grow(std::size_t by);

  std::unique_ptr<char[]> bytes_;
  std::size_t size_ = 0, capacity_ = 0;
};

}  // namespace depyf

#pragma once
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace depyf {

/// A bump allocator for trivially destructible data that lives as long as one Module or one Ast.
class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  Arena(Arena&&) = default;
  Arena& operator=(Arena&&) = default;

  void* allocate(std::size_t size, std::size_t align) {
    const std::size_t at = (used_ + align - 1) & ~(align - 1);
    if (at + size > capacity_) [[unlikely]]
      return start_chunk(size);
    used_ = at + size;
    return chunks_.back().get() + at;
  }

  /// An uninitialised array of `n` trivially destructible T.
  template <class T>
  std::span<T> array(std::size_t n) {
    static_assert(std::is_trivially_destructible_v<T>);
    if (n == 0) return {};
    return {static_cast<T*>(allocate(n * sizeof(T), alignof(T))), n};
  }

  template <class Range>
  auto copy(const Range& range) {
    using T = std::remove_cvref_t<decltype(*std::data(range))>;
    std::span<T> out = array<T>(std::size(range));
    if (!out.empty())
      std::memcpy(static_cast<void*>(out.data()), std::data(range), out.size_bytes());
    return out;
  }

  std::string_view copy_string(std::string_view text) {
    std::span<char> out = copy(text);
    return {out.data(), out.size()};
  }

 private:
  [[gnu::noinline]] void* start_chunk(std::size_t size) {
    chunk_ = std::min(2 * chunk_, kLargestChunk);
    capacity_ = std::max(size, chunk_);
    chunks_.push_back(std::make_unique_for_overwrite<std::byte[]>(capacity_));
    used_ = size;
    return chunks_.back().get();
  }

  // What most code objects need fits a small chunk. glibc's free() sorts all its free blocks when
  // it gets one of 64 KiB.
  static constexpr std::size_t kLargestChunk = 60 * 1024;
  std::size_t chunk_ = 4 * 1024;  // size of the last one
  std::vector<std::unique_ptr<std::byte[]>> chunks_;
  std::size_t used_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace depyf

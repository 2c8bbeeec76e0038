#pragma once
#include <vector>

namespace depyf {

template <class T>
[[gnu::noinline]] void double_capacity(std::vector<T>& items) {
  items.reserve(2 * items.size() + 1);
}

/// A vector's next item, as T() is. The vector grows out of line: inlined, that would be most of the code of whoever appends, and take its registers.
template <class T>
[[gnu::always_inline]] inline T& append(std::vector<T>& items) {
  if (items.size() == items.capacity()) [[unlikely]] double_capacity(items);
  if (items.size() == items.capacity()) __builtin_unreachable();
  return items.emplace_back();
}

}  // namespace depyf

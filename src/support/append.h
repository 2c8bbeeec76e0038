#pragma once
#include <vector>

namespace depyf {

template <class T>
[[gnu::noinline]] void double_capacity(std::vector<T>& items) {
  items.reserve(2 * items.size() + 1);
}

/// A vector's next item, as T() is. The vector grows out of line: inlined, that would be most of
/// the code of whoever appends, and take its registers.
template <class T>
[[gnu::always_inline]] inline T& append(std::vector<T>& items) {
  if (items.size() == items.capacity()) [[unlikely]]
    double_capacity(items);
  if (items.size() == items.capacity()) __builtin_unreachable();
  return items.emplace_back();
}

/// The same for an item that is known.
template <class T>
[[gnu::always_inline]] inline void append(std::vector<T>& items, const T& item) {
  if (items.size() == items.capacity()) [[unlikely]]
    double_capacity(items);
  if (items.size() == items.capacity()) __builtin_unreachable();
  items.push_back(item);
}

}  // namespace depyf

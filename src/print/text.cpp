#include "print/text.h"

#include <algorithm>
#include <utility>

namespace depyf {

void Text::grow(std::size_t by) {
  constexpr std::size_t kLeast = 32 * 1024;
  capacity_ = std::max({size_ + by, 2 * capacity_, kLeast});
  std::unique_ptr<char[]> bytes = std::make_unique_for_overwrite<char[]>(capacity_);
  if (size_ != 0) std::memcpy(bytes.get(), bytes_.get(), size_);
  bytes_ = std::move(bytes);
}

}  // namespace depyf

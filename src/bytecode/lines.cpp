#include "bytecode/lines.h"

#include <algorithm>

namespace depyf {

LineCursor::LineCursor(const CodeObject& code)
    : at_(code.linetable.data()), stop_(at_ + code.linetable.size()) {
  encoding_ = code.version.minor >= 11   ? Encoding::Locations
              : code.version.minor == 10 ? Encoding::Ranges
                                         : Encoding::Lnotab;
  long_ = encoding_ == Encoding::Locations && code.linetable.size() > 2 ? stop_ - 2 : at_;
  line_ = static_cast<std::int32_t>(code.firstlineno);
  if (encoding_ == Encoding::Lnotab) last_ = line_;
}

std::uint32_t LineCursor::long_varint() {
  std::uint32_t value = 0;
  for (unsigned shift = 0; at_ != stop_; shift += 6) {
    const std::uint8_t byte = *at_++;
    if (shift < 32) value |= static_cast<std::uint32_t>(byte & 63) << shift;
    if ((byte & 64) == 0) break;
  }
  return value;
}

std::int32_t LineCursor::signed_varint() {
  const std::uint32_t value = varint();
  const std::uint32_t magnitude = value >> 1;
  return static_cast<std::int32_t>((value & 1) != 0 ? 0U - magnitude : magnitude);
}

bool LineCursor::advance_lines() {
  switch (encoding_) {
    case Encoding::Lnotab: {
      // Pairs (address increment, signed line increment): an entry says where the next line begins.
      if (stop_ - at_ < 2) {
        last_ = line_;
        return false;
      }
      current_ = line_;
      address_ += at_[0];
      add(static_cast<std::int8_t>(at_[1]));
      at_ += 2;
      end_ = static_cast<std::uint32_t>(std::min<std::uint64_t>((address_ + 1) / 2, UINT32_MAX));
      return true;
    }
    case Encoding::Ranges: {
      // Pairs (length in bytes, signed line increment); an increment of -128: no line.
      if (stop_ - at_ < 2) return false;
      address_ += at_[0];
      const auto delta = static_cast<std::int8_t>(at_[1]);
      at_ += 2;
      if (delta == -128) {
        current_ = 0;
      } else {
        add(delta);
        current_ = line_;
      }
      end_ = static_cast<std::uint32_t>(std::min<std::uint64_t>(address_ / 2, UINT32_MAX));
      return true;
    }
    case Encoding::Locations:
      break;
  }
  return false;
}

/// Where columns end; what goes on on a later line ends behind all that begins on its first.
constexpr std::uint32_t kMost = 65535;

/// A first byte has the kind and the number of code units; what follows depends on the kind.
bool LineCursor::advance_location() {
  if (at_ == stop_) return false;
  const std::uint8_t first = *at_++;
  const std::uint32_t kind = first >> 3 & 15;
  end_ += (first & 7) + 1U;
  if (kind < 10) {  // the same line, and columns that are close to each other
    const std::uint32_t rest = byte(), from = kind << 3 | rest >> 4;
    set_columns(from, from + (rest & 15));
  } else if (kind <= 12) {
    add(static_cast<std::int32_t>(kind - 10));
    const std::uint32_t from = byte();
    set_columns(from, byte());
  } else {
    columns_ = 0;
    if (kind == 15) {
      current_ = 0;
      return true;
    }
    add(signed_varint());
    if (kind == 14) {
      const bool one_line = varint() == 0;
      const std::uint32_t from = varint(), to = one_line ? varint() : (varint(), kMost);
      if (from != 0 && to != 0) set_columns(std::min(from, kMost) - 1, std::min(to, kMost) - 1);
    }
  }
  current_ = line_;
  return true;
}

}  // namespace depyf

#include "bytecode/lines.h"

#include <algorithm>

namespace depyf {

LineCursor::LineCursor(const CodeObject& code) : table_(code.linetable) {
  encoding_ = code.version.minor >= 11   ? Encoding::Locations
              : code.version.minor == 10 ? Encoding::Ranges
                                         : Encoding::Lnotab;
  line_ = static_cast<std::int32_t>(code.firstlineno);
  if (encoding_ == Encoding::Lnotab) last_ = line_;
}

std::uint32_t LineCursor::varint() {
  std::uint32_t value = 0;
  for (unsigned shift = 0; at_ < table_.size(); shift += 6) {
    const std::uint8_t byte = table_[at_++];
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

/// Goes to the next range of code units; false at the end of the table.
bool LineCursor::advance() {
  switch (encoding_) {
    case Encoding::Lnotab: {
      // Pairs (address increment, signed line increment): an entry says where the next line begins.
      if (at_ + 1 >= table_.size()) {
        last_ = line_;
        return false;
      }
      current_ = line_;
      address_ += table_[at_];
      add(static_cast<std::int8_t>(table_[at_ + 1]));
      at_ += 2;
      end_ = static_cast<std::uint32_t>(std::min<std::uint64_t>((address_ + 1) / 2, UINT32_MAX));
      return true;
    }
    case Encoding::Ranges: {
      // Pairs (length in bytes, signed line increment); an increment of -128: no line.
      if (at_ + 1 >= table_.size()) return false;
      address_ += table_[at_];
      const auto delta = static_cast<std::int8_t>(table_[at_ + 1]);
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
    case Encoding::Locations: {
      if (at_ >= table_.size()) return false;
      const std::uint8_t first = table_[at_++];
      const std::uint32_t kind = first >> 3 & 15;
      end_ += (first & 7) + 1U;
      columns_ = 0;
      const auto byte = [&] { return at_ < table_.size() ? std::uint32_t{table_[at_++]} : 0U; };
      if (kind == 15) {
        current_ = 0;
        return true;
      }
      if (kind == 14) {
        add(signed_varint());
        varint();
        const std::uint32_t from = varint(), to = varint();  // plus one already
        if (from != 0 && to != 0) set_columns(from - 1, to - 1);
      } else if (kind == 13) {
        add(signed_varint());
      } else if (kind >= 10) {
        add(static_cast<std::int32_t>(kind - 10));
        const std::uint32_t from = byte();
        set_columns(from, byte());
      } else {
        const std::uint32_t rest = byte();
        set_columns(kind << 3 | rest >> 4, (kind << 3 | rest >> 4) + (rest & 15));
      }
      current_ = line_;
      return true;
    }
  }
  return false;
}

}  // namespace depyf

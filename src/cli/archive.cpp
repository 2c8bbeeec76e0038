#include "cli/archive.h"

#include <algorithm>
#include <utility>

#include "support/error.h"

#ifdef DEPYF_HAVE_ZLIB
#include <zlib.h>
#endif

namespace depyf::cli {

namespace {

constexpr std::size_t kEndSize = 22, kEntrySize = 46, kHeaderSize = 30;
constexpr std::uint32_t kEnd = 0x06054b50, kEntry = 0x02014b50, kHeader = 0x04034b50;
constexpr std::uint32_t kLargest = 1u << 28;  // of one member
/// Bytecode is packed about 3 to 1, and zeros in it up to 1032 to 1, which deflate cannot exceed.
/// Beyond kFree bytes, members of bytecode must not unpack to more than kRatio times their size.
constexpr std::uint64_t kFree = 1u << 24, kRatio = 100;

std::uint32_t number(std::span<const std::uint8_t> bytes, std::size_t at, unsigned size) {
  std::uint32_t value = 0;
  for (unsigned i = 0; i < size; ++i) value |= static_cast<std::uint32_t>(bytes[at + i]) << 8 * i;
  return value;
}

/// Offset of the end record, after which only a comment may stand; bytes.size() where there is
/// none.
std::size_t find_end(std::span<const std::uint8_t> bytes) {
  if (bytes.size() < kEndSize) return bytes.size();
  const std::size_t least = bytes.size() - std::min<std::size_t>(bytes.size(), kEndSize + 0xFFFF);
  for (std::size_t at = bytes.size() - kEndSize + 1; at-- > least;)
    if (number(bytes, at, 4) == kEnd && at + kEndSize + number(bytes, at + 20, 2) == bytes.size())
      return at;
  return bytes.size();
}

}  // namespace

bool Archive::is_archive(std::span<const std::uint8_t> bytes) {
  return find_end(bytes) != bytes.size();
}

Archive::Archive(std::vector<std::uint8_t> bytes, std::string name)
    : bytes_(std::move(bytes)), name_(std::move(name)) {
  const std::size_t end = find_end(bytes_);
  if (end == bytes_.size())
    throw Error(name_ +
                ": damaged zip file: the directory at its end is missing; copy the file again");
  const std::uint32_t count = number(bytes_, end + 10, 2), size = number(bytes_, end + 12, 4),
                      start = number(bytes_, end + 16, 4);
  if (count == 0xFFFF || start == 0xFFFFFFFF)
    throw Error(name_ +
                ": zip files in the zip64 form are not read; unpack it and give the folder");
  if (std::size_t{size} > end || std::size_t{start} + size > end)
    throw Error(name_ + ": damaged zip file: its directory lies outside of it");
  std::size_t at = end - size;
  shift_ = at - start;
  std::uint64_t packed = 0, unpacked = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (end - at < kEntrySize || number(bytes_, at, 4) != kEntry)
      throw Error(name_ + ": damaged zip file: entry " + std::to_string(i) + " of its directory");
    const std::size_t length = number(bytes_, at + 28, 2),
                      rest = length + number(bytes_, at + 30, 2) + number(bytes_, at + 32, 2);
    if (end - at - kEntrySize < rest)
      throw Error(name_ + ": damaged zip file: entry " + std::to_string(i) + " of its directory");
    Member member;
    member.flags = static_cast<std::uint16_t>(number(bytes_, at + 8, 2));
    member.method = static_cast<std::uint16_t>(number(bytes_, at + 10, 2));
    member.compressed = number(bytes_, at + 20, 4);
    member.size = number(bytes_, at + 24, 4);
    member.header = number(bytes_, at + 42, 4);
    member.name.assign(reinterpret_cast<const char*>(bytes_.data()) + at + kEntrySize, length);
    packed += member.compressed;
    if (member.name.ends_with(".pyc")) unpacked += member.size;
    members_.push_back(std::move(member));
    at += kEntrySize + rest;
  }
  if (packed > bytes_.size())
    throw Error(name_ + ": damaged zip file: its members lie in one another");
  if (unpacked > kFree && unpacked / kRatio > bytes_.size())
    throw Error(name_ + ": it would unpack to " + std::to_string(unpacked) + " bytes, more than " +
                std::to_string(kRatio) + " times its size; unpack it " +
                "where you trust it, and give the folder");
}

std::vector<std::uint8_t> Archive::read(const Member& member) const {
  auto fail = [&](const std::string& why) -> Error {
    return Error(name_ + "/" + member.name + ": " + why);
  };
  const std::size_t header = shift_ + member.header;
  if (header > bytes_.size() || bytes_.size() - header < kHeaderSize ||
      number(bytes_, header, 4) != kHeader)
    throw fail("damaged zip file: its header");
  const std::size_t data =
      header + kHeaderSize + number(bytes_, header + 26, 2) + number(bytes_, header + 28, 2);
  if (data > bytes_.size() || bytes_.size() - data < member.compressed)
    throw fail("damaged zip file: it goes beyond the end");
  const std::span<const std::uint8_t> packed(bytes_.data() + data, member.compressed);
  if (member.flags & 1) throw fail("it is encrypted");
  if (member.size > kLargest)
    throw fail("it claims " + std::to_string(member.size) + " bytes; at most " +
               std::to_string(kLargest) + " are read");
  if (member.method == 0) return {packed.begin(), packed.end()};
  if (member.method != 8)
    throw fail("compression method " + std::to_string(member.method) +
               " is not read; stored and deflated members are");
  if (member.size / 1032 > member.compressed) throw fail("damaged zip file: its size");
#ifdef DEPYF_HAVE_ZLIB
  std::vector<std::uint8_t> out(std::max<std::size_t>(member.size, 1));
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
  stream.next_in = const_cast<Bytef*>(packed.data());
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = out.data();
  stream.avail_out = static_cast<uInt>(out.size());
  const int result = inflate(&stream, Z_FINISH);
  const bool whole = result == Z_STREAM_END && stream.total_out == member.size;
  inflateEnd(&stream);
  if (!whole) throw fail("damaged zip file: its data");
  out.resize(member.size);
  return out;
#else
  throw fail(
      "it is compressed, and this build of depyf has no zlib; unpack the file and give the folder");
#endif
}

}  // namespace depyf::cli

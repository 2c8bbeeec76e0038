#include "pyc/pyc.h"

#include <iterator>
#include <string>

#include "support/error.h"

namespace depyf {
namespace {

/// The magic number of each released version (Include/internal/pycore_magic_number.h) and the range
/// its pre-releases used.
struct Magic {
  std::uint8_t minor;
  std::uint16_t first, released;
};
constexpr Magic kMagics[] = {
    {7, 3390, 3394},  {8, 3400, 3413},  {9, 3420, 3425},  {10, 3430, 3439}, {11, 3450, 3495},
    {12, 3500, 3531}, {13, 3550, 3571}, {14, 3600, 3627}, {15, 3650, 3666},
};
constexpr std::uint16_t kLastOfPython2 = 62219;
constexpr std::uint16_t kFirstUnknown = 3700;  // where the version after the newest one starts
constexpr std::size_t kHeaderSize = 16;  // magic, flags, then time and size or a hash (PEP 552)
static_assert(std::size(kMagics) == kNewest - kOldest + 1);

}  // namespace

std::optional<PyVersion> version_of_magic(std::uint16_t magic) {
  for (const Magic& entry : kMagics) {
    if (entry.released == magic) return PyVersion{3, entry.minor};
  }
  return std::nullopt;
}

Module read_pyc(std::span<const std::uint8_t> bytes, bool lasting) {
  if (bytes.size() < 4) {
    throw Error("not a .pyc file: only " + std::to_string(bytes.size()) +
                " bytes, while the magic number alone takes 4; is the file truncated?");
  }
  const std::uint16_t magic = static_cast<std::uint16_t>(bytes[0] | bytes[1] << 8);
  if (bytes[2] != '\r' || bytes[3] != '\n') {
    throw Error(
        "not a .pyc file: it does not begin with a CPython magic number (bytes 2 and 3 must be "
        "\\r\\n); "
        "for marshal data without a header, name the Python version (--python 3.X)");
  }
  const std::optional<PyVersion> version = version_of_magic(magic);
  if (!version) {
    std::string message = "unknown .pyc magic number " + std::to_string(magic) + ": ";
    const Magic* range = nullptr;
    for (const Magic& entry : kMagics) {
      if (magic >= entry.first && magic <= entry.released) range = &entry;
    }
    if (range != nullptr) {
      message += "a pre-release of CPython 3." + std::to_string(range->minor) +
                 " wrote it; compile the source again with the release, or";
      message += " strip the 16-byte header and pass --python 3." + std::to_string(range->minor) +
                 " to try it anyway; ";
    } else if (magic >= kFirstUnknown && magic < kFirstUnknown + 100) {
      message += "CPython 3." + std::to_string(kNewest + 1) +
                 " or later wrote it, which this release does not know; ";
    } else if ((magic >= 3000 && magic < kMagics[0].first) ||
               (magic > 20000 && magic <= kLastOfPython2)) {
      message += "CPython 3.6 or earlier wrote it; ";
    } else {
      message += "no CPython release has it (another implementation, or a damaged header); ";
    }
    throw Error(message + "supported are the releases of " + supported_versions());
  }
  if (bytes.size() < kHeaderSize) {
    throw Error("truncated .pyc file: " + std::to_string(bytes.size()) +
                " bytes, while the header takes 16; copy the file again");
  }
  const std::uint32_t flags =
      bytes[4] | bytes[5] << 8 | bytes[6] << 16 | static_cast<std::uint32_t>(bytes[7]) << 24;
  if ((flags & ~3U) != 0) {
    throw Error("corrupt .pyc header: flags " + std::to_string(flags) +
                ", of which PEP 552 defines only the two lowest bits; if the file comes out of an "
                "application bundle its header may be cut: "
                "strip the header and name the Python version (--python 3." +
                std::to_string(version->minor) + ")");
  }
  return read_marshal(bytes.subspan(kHeaderSize), *version, lasting);
}

}  // namespace depyf

#pragma once
// Members of a zip file (PKWARE's APPNOTE.TXT, sections 4.3 and 4.4), for packages and applications
// that are shipped as one.
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace depyf::cli {

struct Member {
  std::string name;
  std::uint16_t flags = 0, method = 0;
  std::uint32_t compressed = 0, size = 0, header = 0;
};

class Archive {
 public:
  /// Throws Error for what is no whole zip file, or is one in a form that is not read (several
  /// disks, more than 4 GiB).
  Archive(std::vector<std::uint8_t> bytes, std::string name);

  const std::vector<Member>& members() const { return members_; }
  /// The bytes of one member. Throws Error where they are damaged, encrypted, or compressed in a
  /// way that this build cannot read.
  std::vector<std::uint8_t> read(const Member& member) const;

  /// Does it begin, or after a prologue of its own end, as a zip file does?
  static bool is_archive(std::span<const std::uint8_t> bytes);

 private:
  std::vector<std::uint8_t> bytes_;
  std::string name_;
  std::vector<Member> members_;
  std::size_t shift_ = 0;  // of every offset: the length of what stands before the archive
};

}  // namespace depyf::cli

#include "cli/inputs.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <unordered_set>

#include "pyc/pyc.h"
#include "support/error.h"

namespace depyf::cli {

namespace fs = std::filesystem;

namespace {

/// `x.cpython-312.opt-1` to `x`; a name without such a tag stays.
std::string untagged(const std::string& stem) {
  std::size_t tag = stem.find(".cpython-");
  return tag == std::string::npos || tag == 0 ? stem : stem.substr(0, tag);
}

fs::path output_of(const fs::path& relative) {
  fs::path folder = relative.parent_path();
  if (folder.filename() == "__pycache__") folder = folder.parent_path();
  return folder / (untagged(relative.stem().string()) + ".py");
}

struct Closer {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Closer>;

}  // namespace

std::vector<Input> collect_inputs(const std::vector<std::string>& paths) {
  std::vector<Input> inputs;
  for (const std::string& text : paths) {
    fs::path path(text);
    std::error_code error;
    fs::file_status status = fs::status(path, error);
    if (!fs::exists(status)) throw Error(text + ": there is no such file or folder");
    if (!fs::is_directory(status)) {
      inputs.push_back({path, output_of(path.filename())});
      continue;
    }
    std::vector<fs::path> found;
    fs::recursive_directory_iterator it(path, fs::directory_options::skip_permission_denied, error), end;
    if (error) throw Error(text + ": the folder cannot be read: " + error.message());
    for (; it != end; it.increment(error)) {
      if (error) break;
      if (it->path().extension() == ".pyc" && it->is_regular_file(error)) found.push_back(it->path());
    }
    std::sort(found.begin(), found.end());
    for (const fs::path& file : found) inputs.push_back({file, output_of(file.lexically_relative(path))});
  }
  std::unordered_set<std::string> taken;
  for (Input& input : inputs) {
    if (taken.insert(input.output.string()).second) continue;
    fs::path tagged = input.output.parent_path() / (input.path.stem().string() + ".py");
    for (int number = 2; !taken.insert(tagged.string()).second; ++number)
      tagged = input.output.parent_path() / (input.path.stem().string() + "." + std::to_string(number) + ".py");
    input.output = tagged;
  }
  return inputs;
}

std::vector<std::uint8_t> read_file(const fs::path& path) {
  File file(std::fopen(path.c_str(), "rb"));
  if (!file) throw Error(path.string() + ": cannot be opened: " + std::strerror(errno));
  std::vector<std::uint8_t> bytes;
  std::size_t used = 0;
  while (true) {
    bytes.resize(std::max<std::size_t>(64 * 1024, used * 2));
    std::size_t got = std::fread(bytes.data() + used, 1, bytes.size() - used, file.get());
    used += got;
    if (got == 0) break;
  }
  if (std::ferror(file.get())) throw Error(path.string() + ": cannot be read: " + std::strerror(errno));
  bytes.resize(used);
  return bytes;
}

void write_file(const fs::path& path, std::string_view text) {
  std::error_code error;
  if (path.has_parent_path()) fs::create_directories(path.parent_path(), error);
  fs::path temporary = path;
  temporary += ".part";
  {
    File file(std::fopen(temporary.c_str(), "wb"));
    if (!file) throw Error(path.string() + ": cannot be written: " + std::strerror(errno));
    bool written = std::fwrite(text.data(), 1, text.size(), file.get()) == text.size() && std::fflush(file.get()) == 0;
    if (!written) {
      std::string reason = std::strerror(errno);
      file.reset();
      fs::remove(temporary, error);
      throw Error(path.string() + ": cannot be written: " + reason);
    }
  }
  fs::rename(temporary, path, error);
  if (error) {
    std::string reason = error.message();
    fs::remove(temporary, error);
    throw Error(path.string() + ": cannot be written: " + reason);
  }
}

Module read_input(const fs::path& path, std::optional<PyVersion> marshal_version) {
  std::vector<std::uint8_t> bytes = read_file(path);
  return marshal_version ? read_marshal(bytes, *marshal_version) : read_pyc(bytes);
}

PyVersion parse_version(const std::string& text) {
  unsigned major = 0, minor = 0;
  char rest = 0;
  if (std::sscanf(text.c_str(), "%u.%u%c", &major, &minor, &rest) == 2 && major == 3 && minor < 256 &&
      is_supported({3, static_cast<std::uint8_t>(minor)}))
    return {3, static_cast<std::uint8_t>(minor)};
  throw Error("--python " + text + ": expected a version of " + supported_versions() + ", such as 3.12");
}

void append_json(std::string& out, std::string_view text) {
  static constexpr char digits[] = "0123456789abcdef";
  auto unicode = [&](unsigned value) {
    out += "\\u";
    for (int shift = 12; shift >= 0; shift -= 4) out += digits[value >> shift & 15];
  };
  out += '"';
  for (std::size_t i = 0; i < text.size(); ++i) {
    auto c = static_cast<unsigned char>(text[i]);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c < 0x20) {
      unicode(c);
    } else if (c == 0xED && i + 2 < text.size() && static_cast<unsigned char>(text[i + 1]) >= 0xA0) {
      unicode(0xD000u | (static_cast<unsigned char>(text[i + 1]) & 0x3Fu) << 6 | (static_cast<unsigned char>(text[i + 2]) & 0x3Fu));
      i += 2;
    } else {
      out += static_cast<char>(c);
    }
  }
  out += '"';
}

}  // namespace depyf::cli

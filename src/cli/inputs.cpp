#include "cli/inputs.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "cli/interpreter.h"
#include "pyc/pyc.h"
#include "support/error.h"
#include "support/system.h"

namespace depyf::cli {

namespace fs = std::filesystem;

namespace {

/// `x.cpython-312.opt-1` to `x`; a name without such a tag stays.
std::string untagged(const std::string& stem) {
  std::size_t tag = stem.find(".cpython-");
  return tag == std::string::npos || tag == 0 ? stem : stem.substr(0, tag);
}

/// The optimization level that a file's name tells (PEP 488).
int optimization_of(const fs::path& path) {
  const std::string stem = path.stem().string();
  return stem.ends_with(".opt-1") ? 1 : stem.ends_with(".opt-2") ? 2 : 0;
}

fs::path output_of(const fs::path& relative) {
  fs::path folder = relative.parent_path();
  if (folder.filename() == "__pycache__") folder = folder.parent_path();
  return folder / (untagged(relative.stem().string()) + ".py");
}

struct Closer {
  void operator()(std::FILE* file) const {
    if (file != stdin) std::fclose(file);
  }
};
using File = std::unique_ptr<std::FILE, Closer>;

/// Null for what is no zip file; throws Error for a damaged one.
std::shared_ptr<const Archive> archive_of(std::vector<std::uint8_t>& bytes, const fs::path& path) {
  constexpr std::uint8_t kMember[] = {'P', 'K', 3, 4};  // how one without a prologue begins
  const bool known = bytes.size() >= 2 &&
                     ((bytes[0] == 'P' && bytes[1] == 'K') || (bytes[0] == '#' && bytes[1] == '!'));
  const bool begins = bytes.size() >= std::size(kMember) &&
                      std::equal(std::begin(kMember), std::end(kMember), bytes.begin());
  return begins || (known && Archive::is_archive(bytes))
             ? std::make_shared<const Archive>(std::move(bytes), path.string())
             : nullptr;
}

/// Null for a file that is no zip file; a .pyc never is, whatever stands at its end.
std::shared_ptr<const Archive> open_archive(const fs::path& path) {
  if (path.extension() == ".pyc") return nullptr;
  File file(open_file(path, "rb"));
  if (!file) return nullptr;  // which reading it will tell
  std::uint8_t start[2] = {};
  const bool known = std::fread(start, 1, 2, file.get()) == 2 &&
                     ((start[0] == 'P' && start[1] == 'K') || (start[0] == '#' && start[1] == '!'));
  if (!known) return nullptr;
  std::vector<std::uint8_t> bytes = read_file(path);
  return archive_of(bytes, path);
}

Input refused(const fs::path& path, std::string why, bool container = false) {
  Input input{path, {}, nullptr, 0, {}};
  input.refused = std::move(why);
  input.container = container;
  return input;
}

constexpr std::string_view kNoFileInIt = "there is no .pyc file in it";

/// Every `.pyc` in it; one whose name leads out of the folder that it would be unpacked to is
/// refused when it is read.
void add_members(std::vector<Input>& inputs, const fs::path& path,
                 const std::shared_ptr<const Archive>& archive) {
  std::vector<Input> found;
  for (std::uint32_t i = 0; i < archive->members().size(); ++i) {
    const fs::path name = fs::path(archive->members()[i].name).lexically_normal();
    if (name.extension() != ".pyc") continue;
    Input input{path / name, output_of(name), archive, i, {}};
    if (name.has_root_path() || *name.begin() == "..")
      input = refused(path.string() + "/" + archive->members()[i].name,
                      "its name leads out of the folder that it would be unpacked to");
    found.push_back(std::move(input));
  }
  if (found.empty()) found.push_back(refused(path, std::string(kNoFileInIt), true));
  std::sort(found.begin(), found.end(),
            [](const Input& a, const Input& b) { return a.path < b.path; });
  inputs.insert(inputs.end(), std::make_move_iterator(found.begin()),
                std::make_move_iterator(found.end()));
}

/// What can be read only once: its start must not be lost to a look at what it is.
void add_stream(std::vector<Input>& inputs, const fs::path& path) {
  std::vector<std::uint8_t> bytes = read_file(path);
  const fs::path name = path == "-" ? fs::path("stdin") : path;
  if (const std::shared_ptr<const Archive> archive = archive_of(bytes, name))
    add_members(inputs, name, archive);
  else
    inputs.push_back({name, output_of(name.filename()), nullptr, 0, std::move(bytes), true});
}

void add_modules(std::vector<Input>& inputs, const std::vector<std::string>& modules,
                 const std::string& interpreter) {
  if (modules.empty()) return;
  const std::unique_ptr<Interpreter> python = Interpreter::start(interpreter, std::nullopt);
  std::unordered_set<std::string> seen;
  for (const std::string& name : modules) {
    if (!seen.insert(name).second) continue;
    Reply reply =
        python
            ? python->find_module(name)
            : Reply::failure(interpreter + " does not run; a Python finds modules by their names");
    if (!reply.done) {
      inputs.push_back(refused("-m " + name, {reply.bytes.begin(), reply.bytes.end()}));
      continue;
    }
    fs::path output;
    for (std::size_t at = 0; at <= name.size();) {
      const std::size_t dot = std::min(name.find('.', at), name.size());
      output /= name.substr(at, dot - at);
      at = dot + 1;
    }
    output += ".py";
    inputs.push_back({name, output, nullptr, 0, std::move(reply.bytes)});
  }
}

std::string unreadable(const std::error_code& error) {
  return "cannot be read: " + error.message();
}

/// Tells files apart by their folder, whatever way to it is written, and their name: a link to a
/// file is one of its own, as it has a name of its own.
class SeenFiles {
 public:
  /// Was it not there before?
  bool add(const fs::path& path) {
    if (path == "-") return files_.insert("-").second;  // standard input; files have a folder
    const fs::path parent = path.parent_path(), folder = parent.empty() ? fs::path(".") : parent;
    auto [found, fresh] = folders_.try_emplace(folder.string());
    if (fresh) {
      std::error_code error;
      found->second = fs::canonical(folder, error).string();
      if (error) found->second = folder.string();
    }
    return files_.insert(found->second + '/' + path.filename().string()).second;
  }

 private:
  std::unordered_map<std::string, std::string> folders_;
  std::unordered_set<std::string> files_;
};

/// Every `.pyc` below the folder, and what below it cannot be looked into. Links to folders are not
/// followed.
std::vector<Input> walk(const fs::path& top) {
  std::vector<Input> found;
  std::vector<fs::path> folders{top};
  while (!folders.empty()) {
    const fs::path folder = std::move(folders.back());
    folders.pop_back();
    std::error_code error;
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
      std::error_code unknown;
      const fs::file_status link = it->symlink_status(unknown);
      if (fs::is_directory(link)) {
        folders.push_back(it->path());
      } else if (it->path().extension() == ".pyc") {
        // What cannot be asked, or is a link to nothing, is told when it is read.
        const fs::file_status status = it->status(unknown);
        if (fs::is_regular_file(status) || !fs::exists(status))
          found.push_back(
              {it->path(), output_of(it->path().lexically_relative(top)), nullptr, 0, {}});
      } else if (!fs::status_known(link)) {
        found.push_back(refused(it->path(), unreadable(unknown)));
      }
    }
    if (error) found.push_back(refused(folder, unreadable(error), true));
  }
  std::sort(found.begin(), found.end(),
            [](const Input& a, const Input& b) { return a.path < b.path; });
  return found;
}

void add_path(std::vector<Input>& inputs, const fs::path& path, SeenFiles& seen) {
  if (path == "-") {
    if (seen.add(path)) add_stream(inputs, path);
    return;
  }
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) {
    inputs.push_back(refused(path, status.type() == fs::file_type::not_found
                                       ? "there is no such file or folder"
                                       : unreadable(error)));
  } else if (fs::is_directory(status)) {
    std::vector<Input> found = walk(path);
    if (found.empty()) found.push_back(refused(path, std::string(kNoFileInIt), true));
    for (Input& input : found)
      if (seen.add(input.path)) inputs.push_back(std::move(input));
  } else if (!seen.add(path)) {
    return;
  } else if (!fs::is_regular_file(status)) {
    add_stream(inputs, path);
  } else if (std::shared_ptr<const Archive> archive = open_archive(path)) {
    add_members(inputs, path, archive);
  } else {
    inputs.push_back({path, output_of(path.filename()), nullptr, 0, {}});
  }
}

/// Where several would go to one file, the later ones get another name.
void tell_outputs_apart(std::vector<Input>& inputs) {
  std::unordered_set<std::string> taken;
  std::unordered_map<std::string, int> last;  // by name without a number: the last one that it got
  for (Input& input : inputs) {
    if (!input.refused.empty()) continue;
    if (taken.insert(input.output.string()).second) continue;
    const std::string stem = (input.output.parent_path() / input.path.stem()).string();
    int& number = last.try_emplace(stem, 0).first->second;
    std::string tagged;
    do {
      ++number;
      tagged = stem + (number == 1 ? "" : "." + std::to_string(number)) + ".py";
    } while (!taken.insert(tagged).second);
    input.output = tagged;
  }
}

}  // namespace

std::vector<Input> collect_inputs(const std::vector<std::string>& paths,
                                  const std::vector<std::string>& modules,
                                  const std::string& interpreter) {
  std::vector<Input> inputs;
  SeenFiles seen;
  for (const std::string& path : paths)
    if (path.empty())
      throw Error("an empty name was given: a .pyc file, a folder or a zip file is expected");
  for (const std::string& path : paths) {
    try {
      add_path(inputs, path, seen);
    } catch (const Error& error) {  // of a pipe or a zip file; the others go on
      const std::string said = error.what(), prefix = path + ": ";
      inputs.push_back(refused(path, said.starts_with(prefix) ? said.substr(prefix.size()) : said));
    }
  }
  add_modules(inputs, modules, interpreter);
  tell_outputs_apart(inputs);
  return inputs;
}

namespace {

struct FileBytes {
  std::unique_ptr<std::uint8_t[]> bytes;
  std::size_t size = 0;
  operator std::span<const std::uint8_t>() const { return {bytes.get(), size}; }
};

FileBytes read_bytes(const fs::path& path) {
  File file(path == "-" ? binary_stdin() : open_file(path, "rb"));
  if (!file) throw Error(path.string() + ": cannot be opened: " + std::strerror(errno));
  if (file.get() != stdin) std::setvbuf(file.get(), nullptr, _IONBF, 0);
  std::error_code unknown;
  std::uintmax_t size = fs::file_size(
      path, unknown);  // no more than a hint: it need not be a regular file, and may grow
  if (unknown) size = 0;
  std::size_t room = static_cast<std::size_t>(std::min<std::uintmax_t>(size, 16 << 20)) + 1;
  FileBytes all{std::make_unique_for_overwrite<std::uint8_t[]>(room)};
  while (std::size_t got = std::fread(all.bytes.get() + all.size, 1, room - all.size, file.get())) {
    all.size += got;
    if (all.size < room) continue;
    room = std::max<std::size_t>(64 * 1024, 2 * room);
    std::unique_ptr<std::uint8_t[]> larger = std::make_unique_for_overwrite<std::uint8_t[]>(room);
    std::memcpy(larger.get(), all.bytes.get(), all.size);
    all.bytes = std::move(larger);
  }
  if (std::ferror(file.get()))
    throw Error(path.string() + (errno == EISDIR
                                     ? std::string(": is a folder, a file is expected")
                                     : std::string(": cannot be read: ") + std::strerror(errno)));
  return all;
}

}  // namespace

std::vector<std::uint8_t> read_file(const fs::path& path) {
  const FileBytes all = read_bytes(path);
  return {all.bytes.get(), all.bytes.get() + all.size};
}

namespace {

/// Shared while a file is written under its temporary name. It is taken behind a gate, so that who
/// wants it alone need not wait until nobody else does.
struct Writing {
  std::mutex gate;
  std::shared_mutex files;
};

Writing& writing() {
  static Writing all;
  return all;
}

}  // namespace

void end_writing() {
  writing().gate.lock();
  writing().files.lock();
}

void write_file(const fs::path& path, std::string_view text, bool replace) {
  std::error_code error;
  if (!replace && fs::exists(fs::symlink_status(path, error))) {
    // Only an ordinary file is looked into: a link or a pipe there is not what depyf writes.
    if (fs::is_regular_file(fs::symlink_status(path, error))) {
      const FileBytes there = read_bytes(path);
      if (there.size == text.size() &&
          std::equal(text.begin(), text.end(), there.bytes.get(),
                     [](char a, std::uint8_t b) { return static_cast<std::uint8_t>(a) == b; }))
        return;
    }
    throw Error(path.string() +
                " exists and holds something else; it is left as it is: give another folder with"
                " -o, or --force to replace it");
  }
  if (const fs::path folder = path.parent_path(); !folder.empty()) {
    std::error_code made;
    fs::create_directories(folder, made);
    if (made && !fs::is_directory(folder, error))
      throw Error(path.string() + ": cannot be written: the folder " + folder.string() +
                  " cannot be made: " + made.message());
  }
  std::unique_lock gate(writing().gate);
  const std::shared_lock lock(writing().files);
  gate.unlock();
  fs::path temporary = path;
  temporary += ".part";
  {
    File file(open_file(temporary, "wb"));
    if (!file) throw Error(path.string() + ": cannot be written: " + std::strerror(errno));
    bool written = std::fwrite(text.data(), 1, text.size(), file.get()) == text.size() &&
                   std::fflush(file.get()) == 0;
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

namespace {

Module read_content(const Input& input, std::optional<PyVersion> marshal_version) {
  if (!input.stream && !input.bytes.empty()) return read_pyc(input.bytes);
  const auto has_magic = [](std::span<const std::uint8_t> bytes) {
    return bytes.size() >= 4 && bytes[2] == '\r' && bytes[3] == '\n';
  };
  const auto read = [&](std::span<const std::uint8_t> bytes, bool lasting) {
    if (marshal_version && has_magic(bytes))
      throw Error(
          "it begins with the header of a .pyc file, which tells the version: leave --python out, "
          "or strip the 16 bytes of the header");
    return marshal_version ? read_marshal(bytes, *marshal_version, lasting)
                           : read_pyc(bytes, lasting);
  };
  if (input.stream) return read(input.bytes, false);
  if (input.archive)
    return read(input.archive->read(input.archive->members()[input.member]), false);
  FileBytes file = read_bytes(input.path);
  const std::span<const std::uint8_t> bytes = file;
  if (input.path.extension() == ".py" && !has_magic(bytes) && !marshal_version)
    throw Error(input.path.string() +
                ": this is Python source already; give the .pyc file that CPython made of it, in "
                "__pycache__ beside it, or its module's name with -m");
  Module module = read(file, true);
  module.source = std::move(file.bytes);
  return module;
}

}  // namespace

Module read_input(const Input& input, std::optional<PyVersion> marshal_version) {
  if (!input.refused.empty()) throw Error(input.path.string() + ": " + input.refused);
  Module module = read_content(input, marshal_version);
  module.optimization = optimization_of(input.path);
  return module;
}

PyVersion parse_version(const std::string& text) {
  unsigned major = 0, minor = 0;
  char rest = 0;
  if (std::sscanf(text.c_str(), "%u.%u%c", &major, &minor, &rest) == 2 && major == 3 &&
      minor < 256 && is_supported({3, static_cast<std::uint8_t>(minor)}))
    return {3, static_cast<std::uint8_t>(minor)};
  throw Error("--python " + text + ": expected a version of " + supported_versions() +
              ", such as 3.12");
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
    } else if (c == 0xED && i + 2 < text.size() &&
               static_cast<unsigned char>(text[i + 1]) >= 0xA0) {
      unicode(0xD000u | (static_cast<unsigned char>(text[i + 1]) & 0x3Fu) << 6 |
              (static_cast<unsigned char>(text[i + 2]) & 0x3Fu));
      i += 2;
    } else {
      out += static_cast<char>(c);
    }
  }
  out += '"';
}

}  // namespace depyf::cli

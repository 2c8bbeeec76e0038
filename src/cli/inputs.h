#pragma once
// Files that the command reads, and where their results go.
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/archive.h"
#include "pyc/code_object.h"

namespace depyf::cli {

struct Input {
  std::filesystem::path path;    // to be shown; of a member of a zip file: below that file's
  std::filesystem::path output;  // relative to the output folder
  std::shared_ptr<const Archive> archive;  // none: `path` is a file, or `bytes` holds it
  std::uint32_t member = 0;
  std::vector<std::uint8_t> bytes;  // of a module that was asked for by name, or of a stream
  bool stream = false;              // `bytes` was read from a pipe or standard input
  std::string refused;              // why it is not read, where it is not
  bool container = false;           // refused: `path` is no file but a folder or zip file
};

/// Each path as it is, folders and zip files as every `.pyc` below them, in a fixed order; a file
/// that was given twice is there once. Pipes and `-`, standard input, are read here, once. What
/// cannot be read is refused, and the others stay: a path or module that is not there, a folder
/// (also one below another), a folder or zip file without a `.pyc`, members of zip files whose
/// names lead out of the file (`..`, an absolute path).
/// `a/x.pyc` and `a/__pycache__/x.cpython-312.pyc` both go to `a/x.py`; where several would, the
/// later ones keep their tag (`a/x.cpython-312.py`). Modules, found by `interpreter`, come last:
/// `a.b` goes to `a/b.py`. Throws Error for an empty name.
std::vector<Input> collect_inputs(const std::vector<std::string>& paths,
                                  const std::vector<std::string>& modules = {},
                                  const std::string& interpreter = {});

/// The whole file, or of `-` the whole standard input. Throws Error where it cannot be read.
std::vector<std::uint8_t> read_file(const std::filesystem::path& path);
/// Writes through a temporary file beside it, so that nothing half-written is left. What stands
/// there with another content stays unless `replace`. Throws Error.
void write_file(const std::filesystem::path& path, std::string_view text, bool replace);
/// Waits until no file is half-written; from then on none is written, for good.
void end_writing();

/// `.pyc`, or marshal data of the given version. The file's name tells Module::optimization.
Module read_input(const Input& input, std::optional<PyVersion> marshal_version);

/// "3.12"; throws Error for anything else or a version that is not supported.
PyVersion parse_version(const std::string& text);

/// `text` between quotes for JSON; lone surrogates as escapes.
void append_json(std::string& out, std::string_view text);

}  // namespace depyf::cli

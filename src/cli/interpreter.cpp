#include "cli/interpreter.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "support/error.h"

extern char** environ;

namespace depyf::cli {

namespace fs = std::filesystem;

namespace {

// Requests "verb length argument\n" and that many bytes; replies "done length\n" or "failed length\n" and bytes. Runs on 3.7 and later.
constexpr const char* kServer = R"(
import marshal, sys
from importlib import machinery, util
requests, replies = sys.stdin.buffer, sys.stdout.buffer
sys.stdout = sys.stderr
sys.dont_write_bytecode = True

def compiled(argument, payload):
    optimize, filename = argument.split(" ", 1)
    return marshal.dumps(compile(payload, filename, "exec", dont_inherit=True, optimize=int(optimize)))

def module(argument, payload):
    folders, name = None, ""
    for part in argument.split("."):
        name = name + "." + part if name else part
        spec = None
        for finder in sys.meta_path if folders is None else [machinery.PathFinder]:
            spec = finder.find_spec(name, folders)
            if spec is not None:
                break
        if spec is None:
            raise ImportError("there is no module named " + repr(name))
        folders = spec.submodule_search_locations
        if folders is None and name != argument:
            raise ImportError(repr(name) + " is no package")
    code = spec.loader.get_code(name) if hasattr(spec.loader, "get_code") else None
    if code is None:
        raise ImportError(repr(name) + " has no bytecode: it is built in, a namespace package or an extension")
    return util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code)

replies.write(b"python 3.%d\n" % sys.version_info[1] if sys.version_info[0] == 3 else b"other\n")
replies.flush()
for line in iter(requests.readline, b""):
    verb, length, argument = line.decode("utf-8", "surrogateescape").rstrip("\n").split(" ", 2)
    payload = requests.read(int(length))
    try:
        answer, word = {"compile": compiled, "module": module}[verb](argument, payload), "done"
    except BaseException as error:
        answer, word = ("%s: %s" % (type(error).__name__, error)).encode("utf-8", "backslashreplace"), "failed"
    replies.write(b"%s %d\n" % (word.encode(), len(answer)))
    replies.write(answer)
    replies.flush()
)";

/// A pipe that no other child inherits: one that did would keep it open, and this interpreter waiting.
bool make_pipe(int (&ends)[2]) {
#ifdef __linux__
  return ::pipe2(ends, O_CLOEXEC) == 0;
#else
  if (::pipe(ends) != 0) return false;
  for (int end : ends) ::fcntl(end, F_SETFD, FD_CLOEXEC);
  return true;
#endif
}

bool write_whole(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

bool read_whole(int file, std::uint8_t* to, std::size_t size) {
  while (size > 0) {
    const ssize_t got = ::read(file, to, size);
    if (got <= 0) return false;
    to += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

std::optional<std::string> read_line(int file) {
  std::string line;
  std::uint8_t c = 0;
  while (line.size() < 64 && read_whole(file, &c, 1)) {
    if (c == '\n') return line;
    line += static_cast<char>(c);
  }
  return std::nullopt;
}

std::vector<std::string> split(std::string_view text, char by) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(by), text.size());
    if (end > 0) parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

/// Where an interpreter of this version may be, in the order of preference.
std::vector<std::string> candidates(PyVersion version) {
  const std::string number = std::to_string(version.major) + "." + std::to_string(version.minor);
  const std::string name = "python" + number;
  std::vector<std::string> found;
  auto add = [&](const fs::path& path) {
    std::error_code error;
    if (::access(path.c_str(), X_OK) == 0 && fs::is_regular_file(path, error)) found.push_back(path.string());
  };
  for (const std::string& path : split(variable("DEPYF_PYTHONS"), ':')) add(path);
  for (const std::string& folder : split(variable("PATH"), ':')) add(fs::path(folder) / name);
  const std::string root = variable("PYENV_ROOT"), home = variable("HOME");
  std::error_code error;
  const fs::path versions = (root.empty() ? fs::path(home) / ".pyenv" : fs::path(root)) / "versions";
  for (fs::directory_iterator it(versions, error), end; !error && it != end; it.increment(error))
    if (it->path().filename().string().starts_with(number + ".")) add(it->path() / "bin" / "python");
  return found;
}

}  // namespace

std::unique_ptr<Interpreter> Interpreter::start(const std::string& program, std::optional<PyVersion> wanted) {
  ::signal(SIGPIPE, SIG_IGN);  // one that has died shows in the reply
  int to[2], from[2];
  if (!make_pipe(to)) return nullptr;
  if (!make_pipe(from)) {
    ::close(to[0]);
    ::close(to[1]);
    return nullptr;
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, to[0], 0);
  posix_spawn_file_actions_adddup2(&actions, from[1], 1);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);  // warnings about the source are not ours
  std::vector<std::string> arguments{program, "-W", "ignore", "-c", kServer};
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  pid_t process = -1;
  const bool failed = posix_spawnp(&process, program.c_str(), &actions, nullptr, argv.data(), environ) != 0;
  posix_spawn_file_actions_destroy(&actions);
  ::close(to[0]);
  ::close(from[1]);
  std::unique_ptr<Interpreter> started(new Interpreter);
  started->to_ = to[1];
  started->from_ = from[0];
  if (failed) return nullptr;
  started->process_ = process;
  const std::optional<std::string> hello = read_line(started->from_);
  if (!hello || !hello->starts_with("python 3.")) return nullptr;
  if (wanted && *hello != "python 3." + std::to_string(wanted->minor)) return nullptr;
  return started;
}

Interpreter::~Interpreter() {
  ::close(to_);
  ::close(from_);
  if (process_ > 0) ::waitpid(process_, nullptr, 0);
}

Interpreter::Reply Interpreter::ask(std::string_view verb, std::string_view argument, std::string_view payload) {
  Reply reply;
  auto fail = [&](std::string_view why) {
    reply.done = false;
    reply.bytes.assign(why.begin(), why.end());
    return reply;
  };
  if (argument.find('\n') != std::string_view::npos) return fail("a name with a line break");
  std::string head(verb);
  head += ' ' + std::to_string(payload.size()) + ' ';
  head += argument;
  head += '\n';
  if (!write_whole(to_, head) || !write_whole(to_, payload)) return fail("the interpreter has ended");
  const std::optional<std::string> line = read_line(from_);
  const std::size_t space = line ? line->find(' ') : std::string::npos;
  if (space == std::string::npos) return fail("the interpreter has ended");
  reply.done = line->substr(0, space) == "done";
  reply.bytes.resize(std::strtoull(line->c_str() + space + 1, nullptr, 10));
  if (!read_whole(from_, reply.bytes.data(), reply.bytes.size())) return fail("the interpreter has ended");
  return reply;
}

Interpreter::Reply Interpreter::compile(std::string_view source, std::string_view filename, int optimize) {
  return ask("compile", std::to_string(optimize) + " " + std::string(filename), source);
}

Interpreter::Reply Interpreter::find_module(const std::string& name) { return ask("module", name, {}); }

Interpreter* Interpreters::of(PyVersion version) {
  auto [it, missing] = started_.try_emplace(version.minor);
  if (missing)
    for (const std::string& program : candidates(version))
      if ((it->second = Interpreter::start(program, version))) break;
  return it->second.get();
}

}  // namespace depyf::cli

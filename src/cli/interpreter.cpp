#include "cli/interpreter.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "support/error.h"
#include "support/system.h"

namespace depyf::cli {

namespace fs = std::filesystem;

namespace {

// Requests "verb length argument\n" and that many bytes; replies "done length 0\n" or "failed
// length line\n" and bytes. Runs on 3.7 and later. What it is given is compiled, never executed.
constexpr const char* kServer = R"(
import marshal, sys
requests, replies = sys.stdin.buffer, sys.stdout.buffer
sys.stdout = sys.stderr
sys.dont_write_bytecode = True

def compiled(argument, payload):
    optimize, filename = argument.split(" ", 1)
    code = compile(payload, filename, "exec", dont_inherit=True, optimize=int(optimize))
    return marshal.dumps(code)

def module(argument, payload):
    from importlib import machinery, util
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
        what = " has no bytecode: it is built in, a namespace package or an extension"
        raise ImportError(repr(name) + what)
    return util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code)

replies.write(b"python 3.%d\n" % sys.version_info[1] if sys.version_info[0] == 3 else b"other\n")
replies.flush()
for line in iter(requests.readline, b""):
    verb, length, argument = line.decode("utf-8", "surrogateescape").rstrip("\n").split(" ", 2)
    payload = requests.read(int(length))
    place = 0
    try:
        answer, word = {"compile": compiled, "module": module}[verb](argument, payload), "done"
    except BaseException as error:
        reason = "%s: %s" % (type(error).__name__, error)
        answer, word = reason.encode("utf-8", "backslashreplace"), "failed"
        place = isinstance(error, SyntaxError) and error.lineno or 0
    replies.write(b"%s %d %d\n" % (word.encode(), len(answer), place))
    replies.write(answer)
    replies.flush()
)";

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

constexpr long long kUsualSeconds = 60;

/// DEPYF_CHECK_SECONDS as a number, 0 where it is none.
long long seconds_of(const std::string& given) {
  char* end = nullptr;
  const long long seconds = std::strtoll(given.c_str(), &end, 10);
  return *end == '\0' && seconds > 0 ? seconds : 0;
}

/// How long one answer may take, the first one too.
std::chrono::seconds time_limit() {
  constexpr long long most = 86'400;
  const long long seconds = seconds_of(variable("DEPYF_CHECK_SECONDS"));
  return std::chrono::seconds(seconds > 0 ? std::min(seconds, most) : kUsualSeconds);
}

std::optional<std::string> read_line(Process& process, Clock::time_point deadline) {
  std::string line;
  std::uint8_t c = 0;
  while (line.size() < 64 && process.read(&c, 1, deadline)) {
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

/// Where an interpreter of this version may be, in the order of preference.
std::vector<std::string> candidates(PyVersion version) {
  const std::string number = version.number();
  const std::string name = "python" + number;
  std::vector<std::string> found;
  auto add = [&](const fs::path& path) {
    if (is_executable(path)) found.push_back(path.string());
  };
  const std::string program = name + std::string(kProgramSuffix);
  std::error_code none;
  for (const std::string& path : split(variable("DEPYF_PYTHONS"), kPathSeparator)) {
    if (fs::is_directory(path, none)) {
      add(fs::path(path) / program);
      add(fs::path(path) / "bin" / program);
      continue;
    }
    const std::string file = fs::path(path).filename().string();
    if (!file.starts_with("python3.") || file == name) add(path);
  }
  for (const std::string& folder : split(variable("PATH"), kPathSeparator))
    add(fs::path(folder) / program);
  const std::string root = variable("PYENV_ROOT"), home = variable("HOME");
  std::error_code error;
  const fs::path versions =
      (root.empty() ? fs::path(home) / ".pyenv" : fs::path(root)) / "versions";
  for (fs::directory_iterator it(versions, error), end; !error && it != end; it.increment(error))
    if (it->path().filename().string().starts_with(number + "."))
      add(it->path() / "bin" / "python");
  return found;
}

}  // namespace

std::vector<std::string> unusable_settings() {
  std::vector<std::string> lines;
  std::error_code none;
  for (const std::string& path : split(variable("DEPYF_PYTHONS"), kPathSeparator))
    if (!fs::is_directory(path, none) && !is_executable(path))
      lines.push_back("DEPYF_PYTHONS names \"" + path +
                      "\", which is neither a folder nor a program that can be run");
  const std::string seconds = variable("DEPYF_CHECK_SECONDS");
  if (!seconds.empty() && seconds_of(seconds) == 0)
    lines.push_back("DEPYF_CHECK_SECONDS is \"" + seconds +
                    "\", a number of seconds from 1 on is expected: " +
                    std::to_string(kUsualSeconds) + " it is");
  return lines;
}

std::unique_ptr<Interpreter> Interpreter::start(const std::string& program,
                                                std::optional<PyVersion> wanted) {
  std::vector<std::string> arguments{"-W", "ignore", "-c", kServer};
  // One that only compiles reads nothing of the user's: no variables, folders or start-up files.
  if (wanted) arguments.insert(arguments.begin(), {"-I", "-S", "-E"});
  std::unique_ptr<Interpreter> started(new Interpreter);
  started->process_ = Process::start(program, arguments);
  if (!started->process_) return nullptr;
  const std::optional<std::string> hello =
      read_line(*started->process_, Clock::now() + time_limit());
  if (!hello || !hello->starts_with("python 3.")) return nullptr;
  if (wanted && *hello != "python " + wanted->number()) return nullptr;
  return started;
}

Interpreter::~Interpreter() = default;

Reply Interpreter::ask(std::string_view verb, std::string_view argument, std::string_view payload) {
  const auto deadline = Clock::now() + time_limit();
  if (argument.find('\n') != std::string_view::npos)
    return Reply::failure("a name with a line break");
  std::string head(verb);
  head += ' ' + std::to_string(payload.size()) + ' ';
  head += argument;
  head += '\n';
  const auto lost = [&] {
    alive_ = false;
    Reply none = Reply::failure(Clock::now() >= deadline ? "took too long"
                                                         : "ended, or gave no proper answer");
    none.lost = true;
    return none;
  };
  if (!process_->write(head, deadline) || !process_->write(payload, deadline)) return lost();
  const std::optional<std::string> line = read_line(*process_, deadline);
  if (!line) return lost();
  const std::vector<std::string> words = split(*line, ' ');
  if (words.size() != 3 || (words[0] != "done" && words[0] != "failed")) return lost();
  Reply reply;
  reply.done = words[0] == "done";
  reply.line = static_cast<std::uint32_t>(std::strtoul(words[2].c_str(), nullptr, 10));
  // Memory is taken for what has come, not for what was announced.
  constexpr std::size_t part = 1 << 20;
  for (std::size_t left = std::strtoull(words[1].c_str(), nullptr, 10); left > 0;) {
    const std::size_t size = std::min(left, part), before = reply.bytes.size();
    reply.bytes.resize(before + size);
    if (!process_->read(reply.bytes.data() + before, size, deadline)) return lost();
    left -= size;
  }
  return reply;
}

Reply Interpreter::compile(std::string_view source, std::string_view filename, int optimize) {
  std::string label(filename);  // a request is one line
  std::replace(label.begin(), label.end(), '\n', ' ');
  return ask("compile", std::to_string(optimize) + " " + label, source);
}

Reply Interpreter::find_module(const std::string& name) { return ask("module", name, {}); }

Reply Reply::failure(std::string_view why) {
  Reply reply;
  reply.bytes.assign(why.begin(), why.end());
  return reply;
}

std::unique_ptr<Interpreter> Interpreters::start(PyVersion version) {
  std::unique_lock lock(mutex_);
  if (auto it = programs_.find(version); it != programs_.end()) {
    if (it->second.empty()) return nullptr;
    const std::string program = it->second;
    lock.unlock();
    return Interpreter::start(program, version);
  }
  std::vector<std::string> programs = candidates(version);
  if (host_.version == version) programs.insert(programs.begin(), host_.program);
  std::string& found = programs_[version];
  for (const std::string& program : programs)
    if (std::unique_ptr<Interpreter> started = Interpreter::start(program, version)) {
      found = program;
      return started;
    }
  return nullptr;
}

std::optional<Reply> Compiler::compile(PyVersion version, std::string_view source,
                                       std::string_view filename, int optimize) {
  const HostPython& host = interpreters_.host();
  if (in_process_ && host.compile && host.version == version)
    return host.compile(source, filename, optimize);
  std::unique_ptr<Interpreter>& worker = workers_[version];
  // One that was lost, perhaps for what it was given before, is replaced.
  Reply reply;
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (!worker || !worker->alive()) worker = interpreters_.start(version);
    if (!worker) {
      if (attempt > 0) return reply;
      return std::nullopt;
    }
    reply = worker->compile(source, filename, optimize);
    if (worker->alive()) return reply;
  }
  return reply;
}

}  // namespace depyf::cli

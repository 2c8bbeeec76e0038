#define WIN32_LEAN_AND_MEAN
#define NOMINMAX
#include <fcntl.h>
#include <io.h>
#include <windows.h>

#include <algorithm>
#include <utility>

#include "support/system.h"

namespace depyf {

namespace {

/// How long to wait before asking again whether a pipe has something to read, or room.
constexpr DWORD kPauseMilliseconds = 1;

/// A handle that is closed at its end.
class Handle {
 public:
  Handle() = default;
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { close(); }
  void close() {
    if (value != INVALID_HANDLE_VALUE && value != nullptr) CloseHandle(value);
    value = INVALID_HANDLE_VALUE;
  }
  HANDLE value = INVALID_HANDLE_VALUE;
};

std::wstring wide(const std::string& text) {
  const int size = static_cast<int>(text.size());
  std::wstring out(
      static_cast<std::size_t>(MultiByteToWideChar(CP_UTF8, 0, text.data(), size, nullptr, 0)),
      L'\0');
  MultiByteToWideChar(CP_UTF8, 0, text.data(), size, out.data(), static_cast<int>(out.size()));
  return out;
}

/// One word of a command line, as CommandLineToArgvW reads it: backslashes count double before a
/// quotation mark.
std::wstring quoted(const std::wstring& word) {
  std::wstring out = L"\"";
  std::size_t backslashes = 0;
  for (wchar_t c : word) {
    if (c == L'\\') {
      ++backslashes;
      continue;
    }
    out.append(c == L'"' ? 2 * backslashes + 1 : backslashes, L'\\');
    backslashes = 0;
    out += c;
  }
  out.append(2 * backslashes, L'\\');
  return out + L"\"";
}

/// A pipe whose end `inherited` a child gets.
bool make_pipe(Handle& reader, Handle& writer, const Handle& inherited) {
  SECURITY_ATTRIBUTES inherit{sizeof(inherit), nullptr, TRUE};
  if (!CreatePipe(&reader.value, &writer.value, &inherit, 1 << 16)) return false;
  Handle& kept = &inherited == &reader ? writer : reader;
  return SetHandleInformation(kept.value, HANDLE_FLAG_INHERIT, 0) != 0;
}

class WindowsProcess final : public Process {
 public:
  ~WindowsProcess() override {
    to.close();
    from.close();
    if (process.value != INVALID_HANDLE_VALUE) TerminateProcess(process.value, 1);
  }

  bool write(std::string_view text, Clock::time_point deadline) override {
    while (!text.empty()) {
      DWORD written = 0;  // the pipe does not block: 0 where it is full
      const DWORD most = static_cast<DWORD>(std::min<std::size_t>(text.size(), 1 << 12));
      if (!WriteFile(to.value, text.data(), most, &written, nullptr)) return false;
      text.remove_prefix(written);
      if (written == 0 && !pause(deadline)) return false;
    }
    return true;
  }

  bool read(std::uint8_t* out, std::size_t size, Clock::time_point deadline) override {
    while (size > 0) {
      DWORD there = 0, got = 0;
      if (!PeekNamedPipe(from.value, nullptr, 0, nullptr, &there, nullptr)) return false;
      if (there == 0) {
        if (!pause(deadline)) return false;
        continue;
      }
      const DWORD most = static_cast<DWORD>(std::min<std::size_t>(size, there));
      if (!ReadFile(from.value, out, most, &got, nullptr) || got == 0) return false;
      out += got;
      size -= got;
    }
    return true;
  }

  Handle to, from, process;

 private:
  static bool pause(Clock::time_point deadline) {
    if (Clock::now() >= deadline) return false;
    Sleep(kPauseMilliseconds);
    return true;
  }
};

}  // namespace

std::string Process::obstacle() { return ""; }

std::unique_ptr<Process> Process::start(const std::string& program,
                                        const std::vector<std::string>& arguments) {
  auto started = std::make_unique<WindowsProcess>();
  Handle input, output, errors;
  if (!make_pipe(input, started->to, input) || !make_pipe(started->from, output, output))
    return nullptr;
  DWORD mode = PIPE_READMODE_BYTE | PIPE_NOWAIT;
  SetNamedPipeHandleState(started->to.value, &mode, nullptr, nullptr);
  SECURITY_ATTRIBUTES inherit{sizeof(inherit), nullptr, TRUE};
  errors.value = CreateFileW(L"NUL", GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE, &inherit,
                             OPEN_EXISTING, 0, nullptr);
  std::wstring line = quoted(wide(program));
  for (const std::string& argument : arguments) line += L" " + quoted(wide(argument));
  STARTUPINFOW startup{};
  startup.cb = sizeof(startup);
  startup.dwFlags = STARTF_USESTDHANDLES;
  startup.hStdInput = input.value;
  startup.hStdOutput = output.value;
  startup.hStdError = errors.value;
  PROCESS_INFORMATION made{};
  if (!CreateProcessW(nullptr, line.data(), nullptr, nullptr, TRUE, CREATE_NO_WINDOW, nullptr,
                      nullptr, &startup, &made))
    return nullptr;
  CloseHandle(made.hThread);
  started->process.value = made.hProcess;
  return started;
}

namespace {

std::function<void()>* words_at_the_end = nullptr;

/// Windows calls it in a thread of its own, and ends the program after it.
BOOL WINAPI on_console(DWORD) {
  if (words_at_the_end) (*words_at_the_end)();
  return FALSE;
}

}  // namespace

struct Interruption::State {
  std::function<void()> last_words;
};

Interruption::Interruption(std::function<void()> last_words) : state_(std::make_unique<State>()) {
  state_->last_words = std::move(last_words);
  words_at_the_end = &state_->last_words;
  SetConsoleCtrlHandler(on_console, TRUE);
}

Interruption::~Interruption() {
  SetConsoleCtrlHandler(on_console, FALSE);
  words_at_the_end = nullptr;
}

void hold_standard_streams() {}  // the numbers of closed ones are not given again

bool is_terminal(std::FILE* file) { return _isatty(_fileno(file)) != 0; }

bool is_executable(const std::filesystem::path& path) {
  std::error_code error;
  return path.extension() == kProgramSuffix && std::filesystem::is_regular_file(path, error);
}

std::FILE* open_file(const std::filesystem::path& path, const char* mode) {
  return _wfopen(path.c_str(), wide(mode).c_str());
}

std::FILE* binary_stdin() {
  _setmode(_fileno(stdin), _O_BINARY);
  return stdin;
}

}  // namespace depyf

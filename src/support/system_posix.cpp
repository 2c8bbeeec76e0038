#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <mutex>
#include <set>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "support/system.h"

extern char** environ;

namespace depyf {

namespace {

/// A pipe that no other child inherits: one that did would keep it open, and its reader waiting.
bool make_pipe(int (&ends)[2]) {
#ifdef __linux__
  return ::pipe2(ends, O_CLOEXEC) == 0;
#else
  if (::pipe(ends) != 0) return false;
  for (int end : ends) ::fcntl(end, F_SETFD, FD_CLOEXEC);
  return true;
#endif
}

/// What the system had too little of when a program was to be started, an error number; 0: nothing.
std::atomic<int> shortage{0};

void note_shortage(int error) {
  if (error == EMFILE || error == ENFILE || error == ENOMEM || error == EAGAIN) shortage = error;
}

/// Waits until `file` can be read or written; false where that takes until `deadline`.
bool ready(int file, short events, Clock::time_point deadline) {
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    pollfd waiting{file, events, 0};
    const int found = ::poll(&waiting, 1, static_cast<int>(left));
    if (found > 0) return true;
    if (found < 0 && errno != EINTR) return false;
  }
}

/// The processes that run beside this one. The lock is held while one is started or ended.
struct Beside {
  std::mutex mutex;
  std::set<pid_t> ids;
};

Beside& beside() {
  static Beside all;
  return all;
}

class PosixProcess final : public Process {
 public:
  PosixProcess(int to, int from) : to_(to), from_(from) {}
  ~PosixProcess() override {
    ::close(to_);
    ::close(from_);
    if (id <= 0) return;
    const std::lock_guard lock(beside().mutex);
    beside().ids.erase(id);
    ::kill(id, SIGKILL);  // it has nothing to finish, and may hang
    ::waitpid(id, nullptr, 0);
  }

  // The pipe does not block: a program that reads nothing must not stop this one.
  bool write(std::string_view text, Clock::time_point deadline) override {
    while (!text.empty()) {
      if (!ready(to_, POLLOUT, deadline)) return false;
      const ssize_t written = ::write(to_, text.data(), text.size());
      if (written < 0 && (errno == EAGAIN || errno == EINTR)) continue;
      if (written <= 0) return false;
      text.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
  }

  bool read(std::uint8_t* to, std::size_t size, Clock::time_point deadline) override {
    while (size > 0) {
      if (!ready(from_, POLLIN, deadline)) return false;
      const ssize_t got = ::read(from_, to, size);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return false;
      to += got;
      size -= static_cast<std::size_t>(got);
    }
    return true;
  }

  pid_t id = -1;

 private:
  int to_, from_;
};

}  // namespace

std::unique_ptr<Process> Process::start(const std::string& program,
                                        const std::vector<std::string>& arguments) {
  ::signal(SIGPIPE, SIG_IGN);  // a program that has died shows in what `write` returns
  int to[2], from[2];
  if (!make_pipe(to)) {
    note_shortage(errno);
    return nullptr;
  }
  if (!make_pipe(from)) {
    note_shortage(errno);
    ::close(to[0]);
    ::close(to[1]);
    return nullptr;
  }
  ::fcntl(to[1], F_SETFL, O_NONBLOCK);
  auto started = std::make_unique<PosixProcess>(to[1], from[0]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, to[0], 0);
  posix_spawn_file_actions_adddup2(&actions, from[1], 1);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  std::vector<std::string> words{program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  int failed = 0;
  {
    const std::lock_guard lock(beside().mutex);
    failed = posix_spawnp(&started->id, program.c_str(), &actions, nullptr, argv.data(), environ);
    if (failed == 0) beside().ids.insert(started->id);
  }
  posix_spawn_file_actions_destroy(&actions);
  ::close(to[0]);
  ::close(from[1]);
  if (failed != 0) {
    note_shortage(failed);
    started->id = -1;
    return nullptr;
  }
  return started;
}

std::string Process::obstacle() {
  // to look for a program takes descriptors, too: where they ran out then, none was tried
  int to[2], from[2];
  if (!make_pipe(to)) {
    note_shortage(errno);
  } else {
    if (!make_pipe(from)) {
      note_shortage(errno);
    } else {
      for (int end : from) ::close(end);
    }
    for (int end : to) ::close(end);
  }
  return shortage == 0 ? "" : std::generic_category().message(shortage);
}

namespace {

constexpr int kAsksToEnd[] = {SIGINT, SIGTERM, SIGHUP};
int wakes = -1;  // the end of a pipe that on_signal writes to

void on_signal(int number) {
  const int before = errno;
  const auto byte = static_cast<unsigned char>(number);
  [[maybe_unused]] const ssize_t written = ::write(wakes, &byte, 1);
  errno = before;
}

}  // namespace

struct Interruption::State {
  std::function<void()> last_words;
  std::vector<int> numbers;  // of the signals that have our handler
  int ends[2] = {-1, -1};
  std::thread waiting;

  void wait() {
    unsigned char byte = 0;
    ssize_t got = 0;
    do got = ::read(ends[0], &byte, 1);
    while (got < 0 && errno == EINTR);
    if (got != 1) return;  // the other end was closed: nothing happened
    last_words();
    beside().mutex.lock();  // for good: no other is started
    for (pid_t id : beside().ids) ::kill(id, SIGKILL);
    ::signal(byte, SIG_DFL);
    ::raise(byte);
  }
};

Interruption::Interruption(std::function<void()> last_words) : state_(std::make_unique<State>()) {
  state_->last_words = std::move(last_words);
  if (!make_pipe(state_->ends)) return;
  wakes = state_->ends[1];
  try {
    state_->waiting = std::thread([state = state_.get()] { state->wait(); });
  } catch (const std::system_error&) {  // no thread can be had: a signal ends the process at once
    for (int end : state_->ends) ::close(end);
    return;
  }
  for (int number : kAsksToEnd) {
    struct sigaction there{};
    if (::sigaction(number, nullptr, &there) != 0 || there.sa_handler != SIG_DFL) continue;
    struct sigaction ours{};
    ours.sa_handler = on_signal;
    ours.sa_flags = static_cast<int>(SA_RESTART | SA_RESETHAND);
    sigemptyset(&ours.sa_mask);
    if (::sigaction(number, &ours, nullptr) == 0) state_->numbers.push_back(number);
  }
}

Interruption::~Interruption() {
  if (!state_->waiting.joinable()) return;
  for (int number : state_->numbers) ::signal(number, SIG_DFL);
  ::close(state_->ends[1]);
  state_->waiting.join();
  ::close(state_->ends[0]);
}

void hold_standard_streams() {
  for (int file = 0; file < 3; ++file)
    if (::fcntl(file, F_GETFD) < 0 && errno == EBADF)
      ::open("/dev/null", file == 0 ? O_WRONLY : O_RDONLY);  // the lowest number that is free
}

bool is_terminal(std::FILE* file) { return ::isatty(::fileno(file)) != 0; }

bool is_executable(const std::filesystem::path& path) {
  std::error_code error;
  return ::access(path.c_str(), X_OK) == 0 && std::filesystem::is_regular_file(path, error);
}

std::FILE* open_file(const std::filesystem::path& path, const char* mode) {
  return std::fopen(path.c_str(), mode);
}

std::FILE* binary_stdin() { return stdin; }

}  // namespace depyf

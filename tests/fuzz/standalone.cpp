// Stands in for libFuzzer where the compiler has none, with the same arguments: files and folders
// of inputs, -max_total_time=SECONDS, -seed=N. Runs every input, then random mutations of them
// until the time is up. An input that kills the program is left in crash-input, one that takes too
// long in slow-input.
#include <fcntl.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Bytes = std::vector<std::uint8_t>;
constexpr std::size_t kLongest = 1 << 16;
constexpr long kHang = 20;   // seconds for one input that never ends
constexpr double kSlow = 2;  // seconds for one input

const Bytes* current = nullptr;

/// Leaves the input that killed the program; only what a signal handler may call.
extern "C" void keep_input(int number) {
  const int file = ::open("crash-input", O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (file >= 0 && current) {
    [[maybe_unused]] const ssize_t written = ::write(file, current->data(), current->size());
    ::close(file);
  }
  ::signal(number, SIG_DFL);
  ::raise(number);
}

void watch_signals() {
  static char stack[1 << 16];  // of its own: the usual one may be what has overflowed
  stack_t alternative{};
  alternative.ss_sp = stack;
  alternative.ss_size = sizeof stack;
  ::sigaltstack(&alternative, nullptr);
  struct sigaction action{};
  action.sa_handler = keep_input;
  action.sa_flags = SA_ONSTACK;
  for (int number : {SIGSEGV, SIGABRT, SIGFPE, SIGBUS, SIGILL, SIGVTALRM})
    ::sigaction(number, &action, nullptr);
}

void mutate(Bytes& input, const Bytes& other, std::mt19937_64& random) {
  auto below = [&](std::size_t n) { return n == 0 ? 0 : static_cast<std::size_t>(random() % n); };
  for (std::size_t times = 1 + below(6); times-- > 0;) {
    const std::size_t at = below(input.size());
    switch (below(6)) {
      case 0:
        if (!input.empty()) input[at] = static_cast<std::uint8_t>(random());
        break;
      case 1:
        if (!input.empty()) input[at] ^= static_cast<std::uint8_t>(1u << below(8));
        break;
      case 2:
        input.resize(at);
        break;
      case 3:
        if (!input.empty())
          input.erase(input.begin() + static_cast<std::ptrdiff_t>(at),
                      input.begin() +
                          static_cast<std::ptrdiff_t>(std::min(input.size(), at + 1 + below(8))));
        break;
      case 4:
        input.insert(input.begin() + static_cast<std::ptrdiff_t>(at), 1 + below(8),
                     static_cast<std::uint8_t>(random()));
        break;
      case 5: {  // a piece of another input
        if (other.empty()) break;
        const std::size_t from = below(other.size()),
                          size = std::min<std::size_t>(1 + below(64), other.size() - from);
        if (input.size() < at + size) input.resize(at + size);
        std::copy_n(other.begin() + static_cast<std::ptrdiff_t>(from), size,
                    input.begin() + static_cast<std::ptrdiff_t>(at));
        break;
      }
    }
  }
  if (input.size() > kLongest) input.resize(kLongest);
}

}  // namespace

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  double seconds = 0;
  std::uint64_t seed = static_cast<std::uint64_t>(std::random_device{}());
  std::vector<Bytes> inputs;
  auto add = [&](const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    inputs.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  };
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], "-max_total_time=", 16) == 0)
      seconds = std::atof(argv[i] + 16);
    else if (std::strncmp(argv[i], "-seed=", 6) == 0)
      seed = std::strtoull(argv[i] + 6, nullptr, 10);
    else if (argv[i][0] == '-')
      continue;
    else if (fs::is_directory(argv[i])) {
      std::vector<fs::path> files;
      for (const fs::directory_entry& entry : fs::recursive_directory_iterator(argv[i]))
        if (entry.is_regular_file()) files.push_back(entry.path());
      std::sort(files.begin(), files.end());  // a seed draws the same on every machine
      for (const fs::path& file : files) add(file);
    } else
      add(argv[i]);
  }
  if (inputs.empty()) {
    std::fprintf(stderr, "no inputs: give files or folders\n");
    return 2;
  }
  std::printf("seed %llu, %zu inputs\n", static_cast<unsigned long long>(seed), inputs.size());
  std::fflush(stdout);
  std::mt19937_64 random(seed);
  watch_signals();
  const auto start = std::chrono::steady_clock::now();
  auto elapsed = [](auto from) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
  };
  std::size_t runs = 0;
  double slowest = 0;
  auto run = [&](const Bytes& input) {
    current = &input;
    const itimerval limit{{}, {kHang, 0}};  // of the processor's time; its signal ends the program
    ::setitimer(ITIMER_VIRTUAL, &limit, nullptr);
    const std::clock_t begun = std::clock();  // of the processor: other programs must not count
    LLVMFuzzerTestOneInput(input.data(), input.size());
    const double taken = static_cast<double>(std::clock() - begun) / CLOCKS_PER_SEC;
    if (taken > slowest && taken > kSlow) {
      std::ofstream file("slow-input", std::ios::binary | std::ios::trunc);
      file.write(reinterpret_cast<const char*>(input.data()),
                 static_cast<std::streamsize>(input.size()));
    }
    slowest = std::max(slowest, taken);
    ++runs;
  };
  for (const Bytes& input : inputs) run(input);
  while (elapsed(start) < seconds) {
    Bytes input = inputs[random() % inputs.size()];
    mutate(input, inputs[random() % inputs.size()], random);
    run(input);
  }
  std::printf("%zu runs, the slowest %.0f ms\n", runs, slowest * 1000);
  return slowest > kSlow ? 1 : 0;
}

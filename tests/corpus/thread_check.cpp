// The core in several threads at once: each decompiles every file and proves it equal to itself,
// and must get what one thread alone got.
//   thread_check [-t THREADS] [-r ROUNDS] FILE_OR_FOLDER...
// In even rounds all threads take the files in one order, so that they are at the same file at
// once; in odd rounds each begins at another one. scripts/threads builds it with ThreadSanitizer.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "pipeline/pipeline.h"
#include "pyc/pyc.h"
#include "support/error.h"
#include "verify/verify.h"

namespace {

using namespace depyf;

/// What one thread makes of one file: text, diagnostics and verdict in one string.
std::string outcome(const std::string& bytes) {
  const std::span<const std::uint8_t> data{reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                           bytes.size()};
  std::string out;
  try {
    Module module = read_pyc(data);
    DecompileOptions options;
    options.line_map = true;
    const Decompiled made = decompile(module, options);
    out = made.source.text;
    for (const Diagnostic& one : made.diagnostics) out += "\n" + diagnostic_kind(one);
    Module a = read_pyc(data), b = read_pyc(data);
    out += "\n" + std::to_string(static_cast<int>(verify(a, a.root, b, b.root).kind));
  } catch (const Error& error) {
    out += std::string("\nerror: ") + error.what();
  }
  return out;
}

void collect(const std::filesystem::path& path, std::vector<std::string>& files) {
  namespace fs = std::filesystem;
  if (!fs::is_directory(path)) {
    files.push_back(path.string());
    return;
  }
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(path))
    if (entry.is_regular_file() && entry.path().extension() == ".pyc")
      files.push_back(entry.path().string());
}

}  // namespace

int main(int count, char** arguments) {
  std::size_t threads = 8, rounds = 2;
  std::vector<std::string> names;
  for (int i = 1; i < count; ++i) {
    if (!std::strcmp(arguments[i], "-t") && i + 1 < count)
      threads = std::strtoul(arguments[++i], nullptr, 10);
    else if (!std::strcmp(arguments[i], "-r") && i + 1 < count)
      rounds = std::strtoul(arguments[++i], nullptr, 10);
    else
      collect(arguments[i], names);
  }
  std::sort(names.begin(), names.end());
  if (names.empty() || threads == 0) {
    std::fprintf(stderr, "thread_check: no files\n");
    return 2;
  }
  std::vector<std::string> inputs;
  for (const std::string& name : names) {
    std::ifstream in(name, std::ios::binary);
    inputs.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  // The threads run before the one that says what is right: what the core makes at its first use
  // is made by several at once.
  std::vector<std::vector<std::string>> found(threads, std::vector<std::string>(inputs.size()));
  std::atomic<std::size_t> unstable{0};
  std::atomic<bool> go{false};
  const auto work = [&](std::size_t thread) {
    while (!go.load(std::memory_order_acquire)) std::this_thread::yield();
    for (std::size_t round = 0; round < rounds; ++round) {
      const std::size_t first = round % 2 ? thread * inputs.size() / threads : 0;
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        const std::size_t which = (first + i) % inputs.size();
        std::string made = outcome(inputs[which]);
        if (round && made != found[thread][which]) ++unstable;
        found[thread][which] = std::move(made);
      }
    }
  };
  std::vector<std::thread> running;
  for (std::size_t thread = 0; thread < threads; ++thread) running.emplace_back(work, thread);
  go.store(true, std::memory_order_release);
  for (std::thread& thread : running) thread.join();

  std::size_t wrong = unstable;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::string right = outcome(inputs[i]);
    for (std::size_t thread = 0; thread < threads; ++thread) {
      if (found[thread][i] == right) continue;
      if (++wrong <= 10)
        std::printf("%s: thread %zu got another result\n", names[i].c_str(), thread);
    }
  }
  std::printf("%zu files, %zu threads, %zu rounds: %zu results, %zu wrong\n", inputs.size(),
              threads, rounds, inputs.size() * threads * rounds, wrong);
  return wrong ? 1 : 0;
}

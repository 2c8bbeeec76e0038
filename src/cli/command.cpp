#include "cli/command.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

#include "cli/completion.h"
#include "cli/inputs.h"
#include "cli/interpreter.h"
#include "cli/stage_json.h"
#include "pipeline/pipeline.h"
#include "pipeline/stage_graph.h"
#include "pyc/pyc.h"
#include "support/error.h"
#include "verify/verify.h"

namespace depyf {

namespace {

using cli::Input;

constexpr std::string_view kHelp =
    R"(usage: depyf decompile PATH... [-m MODULE] [-o DIR] [-j N] [--check] [--format text|json] [--python 3.X]
       depyf dis PATH... [-m MODULE] [--code NAME] [--python 3.X]
       depyf dump --stage STAGE PATH... [-m MODULE] [--code NAME] [--format text|dot|json] [--python 3.X]
       depyf compare A.pyc B.pyc
       depyf completion bash|zsh|fish

Python source from CPython bytecode, 3.7 to 3.15.

decompile   source of .pyc files, of every .pyc below a folder or in a zip file, or of
            modules by name; of one file to standard output, of several into the
            folder given with -o
dis         the instructions, in version-free notation
dump        what one stage made of each code object
            (bytecode, flow, lift, simplify, structure, rewrite, print)
compare     do two files do the same? identical, exact, equivalent or different
completion  a script that completes this command in a shell

options
  -m, --module NAME       the module of that name, as python3 finds it; nothing is imported
  -o, --output DIR        write DIR/a/x.py for a/x.pyc and a/__pycache__/x.cpython-312.pyc
  -j, --jobs N            files at a time (default: one for each processor)
  --check                 compile the source with the Python of that version, and compare: is it the same program?
  --format text|json|dot  json: source, line map and diagnostics, or what a stage made; dot: the graph that
                          flow, lift or simplify made, for Graphviz
  --python 3.X            the input is marshal data of that version, without a header
  --indentation N         columns of one level (default 4)
  --keep-temporaries      do not fold stack temporaries into expressions
  --ladder N              start at rung N of the fallbacks: 5 a dispatch loop, 6 rebuild from bytes
  --code NAME             dump, dis: only code objects whose qualified name is or ends in NAME
  -h, --help              this text

exit code: 0 done; 1 a part could not be decompiled, --check refuted a part, or the files differ;
2 no input could be read, or the usage was wrong

environment: DEPYF_PYTHONS, interpreters for --check, joined as in PATH, besides those in PATH and of pyenv;
NO_COLOR, no colours on a terminal

examples
  depyf decompile __pycache__/spam.cpython-312.pyc
  depyf decompile build/ -o src/ -j 4 --check
  depyf decompile -m json.decoder
  depyf dump --stage flow --format dot spam.pyc --code Spam.eggs | dot -Tsvg > eggs.svg
  depyf dump --stage lift spam.pyc --code Spam.eggs
  depyf compare spam.pyc other/spam.pyc
)";

enum class Verb : std::uint8_t { Decompile, Dis, Dump, Compare, Completion };
enum class Format : std::uint8_t { Text, Json, Dot };

struct Options {
  Verb verb = Verb::Decompile;
  std::vector<std::string> paths, modules;
  std::string interpreter;
  std::string output;
  unsigned jobs = 0;
  Format format = Format::Text;
  bool check = false;
  std::optional<PyVersion> marshal_version;
  std::optional<Stage> stage;
  std::string code;
  DecompileOptions decompile;
};

/// Wrong usage: the message, then a pointer to --help, exit code 2.
struct UsageError : Error {
  using Error::Error;
};

unsigned parse_number(const std::string& option, const std::string& text, unsigned least, unsigned most) {
  unsigned value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most)
    throw UsageError(option + " " + text + ": expected a number from " + std::to_string(least) + " to " + std::to_string(most));
  return value;
}

Stage parse_stage(const std::string& text) {
  for (Stage stage : {Stage::Bytecode, Stage::Flow, Stage::Lift, Stage::Simplify, Stage::Structure, Stage::Rewrite, Stage::Print})
    if (text == stage_name(stage)) return stage;
  throw UsageError("--stage " + text + ": expected bytecode, flow, lift, simplify, structure, rewrite or print");
}

Options parse_options(std::span<const std::string> arguments) {
  Options options;
  const std::string& verb = arguments[0];
  if (verb == "decompile")
    options.verb = Verb::Decompile;
  else if (verb == "dis")
    options.verb = Verb::Dis;
  else if (verb == "dump")
    options.verb = Verb::Dump;
  else if (verb == "compare")
    options.verb = Verb::Compare;
  else if (verb == "completion")
    options.verb = Verb::Completion;
  else
    throw UsageError("unknown command '" + verb + "': expected decompile, dis, dump, compare or completion");
  bool only_paths = false;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    std::string name = arguments[i];
    if (only_paths || name.size() < 2 || name[0] != '-') {
      options.paths.push_back(name);
      continue;
    }
    if (name == "--") {
      only_paths = true;
      continue;
    }
    std::optional<std::string> given;
    if (name.starts_with("--")) {
      if (std::size_t equals = name.find('='); equals != std::string::npos) {
        given = name.substr(equals + 1);
        name.resize(equals);
      }
    } else if (name.size() > 2) {
      given = name.substr(2);
      name.resize(2);
    }
    auto value = [&]() -> std::string {
      if (given) return *given;
      if (i + 1 == arguments.size()) throw UsageError(name + ": a value is missing");
      return arguments[++i];
    };
    if (name == "-o" || name == "--output")
      options.output = value();
    else if (name == "-j" || name == "--jobs")
      options.jobs = parse_number(name, value(), 1, 1024);
    else if (name == "--format") {
      std::string format = value();
      if (format == "text") options.format = Format::Text;
      else if (format == "json") options.format = Format::Json;
      else if (format == "dot" && options.verb == Verb::Dump) options.format = Format::Dot;
      else throw UsageError("--format " + format + ": expected text" + (options.verb == Verb::Dump ? ", json or dot" : " or json"));
    } else if (name == "-m" || name == "--module")
      options.modules.push_back(value());
    else if (name == "--check")
      options.check = true;
    else if (name == "--python")
      options.marshal_version = cli::parse_version(value());
    else if (name == "--indentation")
      options.decompile.indentation = parse_number(name, value(), 1, 16);
    else if (name == "--keep-temporaries")
      options.decompile.keep_temporaries = true;
    else if (name == "--ladder")
      options.decompile.ladder = static_cast<std::uint8_t>(parse_number(name, value(), 0, 6));
    else if (name == "--stage")
      options.stage = parse_stage(value());
    else if (name == "--code")
      options.code = value();
    else
      throw UsageError("unknown option '" + name + "'");
  }
  if (options.verb == Verb::Completion) {
    if (options.paths.size() != 1 || !completion_script(options.paths[0])) throw UsageError("completion takes the name of a shell: bash, zsh or fish");
    return options;
  }
  if (options.paths.empty() && options.modules.empty()) throw UsageError("no input: give a .pyc file, a folder, a zip file or -m MODULE");
  if (options.verb == Verb::Compare && options.paths.size() != 2)
    throw UsageError("compare takes two files, " + std::to_string(options.paths.size()) + " were given");
  if (options.verb == Verb::Dump && !options.stage) throw UsageError("dump needs --stage");
  const Stage stage = options.stage.value_or(Stage::Bytecode);
  if (options.format == Format::Dot && stage != Stage::Flow && stage != Stage::Lift && stage != Stage::Simplify)
    throw UsageError("--format dot shows graphs: those of --stage flow, lift and simplify");
  return options;
}

void write_all(std::FILE* to, std::string_view text) { std::fwrite(text.data(), 1, text.size(), to); }

/// Colours only for a terminal whose user has not asked for none (https://no-color.org).
bool coloured(std::FILE* to) {
  const char *none = std::getenv("NO_COLOR"), *terminal = std::getenv("TERM");
  return isatty(fileno(to)) && !(none && *none) && !(terminal && std::string_view(terminal) == "dumb");
}

enum class Colour : std::uint8_t { Red = 31, Green = 32, Yellow = 33 };

std::string painted(std::string_view text, Colour colour, std::FILE* to) {
  if (!coloured(to)) return std::string(text);
  return "\x1b[" + std::to_string(static_cast<int>(colour)) + "m" + std::string(text) + "\x1b[0m";
}

void report(const std::string& message, Colour colour = Colour::Red) { write_all(stderr, painted("depyf:", colour, stderr) + " " + message + "\n"); }

Colour colour_of(VerdictKind kind) { return kind == VerdictKind::Different ? Colour::Red : Colour::Green; }

/// What --check found for one file.
struct Check {
  enum Outcome : std::uint8_t { NotAsked, NoInterpreter, NotCompiled, Compared } outcome = NotAsked;
  VerdictKind verdict = VerdictKind::Different;
  std::string detail;

  bool refuted() const { return outcome == NotCompiled || (outcome == Compared && verdict == VerdictKind::Different); }
  std::string_view word() const {
    switch (outcome) {
      case NotAsked: case NoInterpreter: return "not checked";
      case NotCompiled: return "not compiled";
      case Compared: break;
    }
    return verdict_word(verdict);
  }
};

/// The optimization level that a file's name tells (PEP 488).
int optimization_of(const std::filesystem::path& path) {
  const std::string stem = path.stem().string();
  return stem.ends_with(".opt-1") ? 1 : stem.ends_with(".opt-2") ? 2 : 0;
}

/// Does `source`, compiled by the Python of that version, do what the module does?
Check check_source(Module& module, const std::string& source, const std::filesystem::path& path, cli::Interpreters& interpreters) {
  Check check;
  cli::Interpreter* python = interpreters.of(module.version);
  if (!python) {
    check.outcome = Check::NoInterpreter;
    check.detail = "no python" + std::to_string(module.version.major) + "." + std::to_string(module.version.minor) + " was found; DEPYF_PYTHONS may name one";
    return check;
  }
  cli::Interpreter::Reply compiled = python->compile(source, path.filename().string(), optimization_of(path));
  if (!compiled.done) {
    check.outcome = Check::NotCompiled;
    check.detail.assign(compiled.bytes.begin(), compiled.bytes.end());
    return check;
  }
  Module again = read_marshal(compiled.bytes, module.version);
  const Verdict verdict = verify(module, module.root, again, again.root);
  check.outcome = Check::Compared;
  check.verdict = verdict.kind;
  check.detail = verdict.detail;
  return check;
}

std::string diagnostic_text(const Module& module, const Diagnostic& diagnostic) {
  std::string kind;
  switch (diagnostic.kind) {
    case Diagnostic::Ladder: kind = "ladder L" + std::to_string(diagnostic.level); break;
    case Diagnostic::BrokenCode: kind = "not decompiled"; break;
    case Diagnostic::Note: kind = "note"; break;
  }
  return code_path(module, diagnostic.code) + ": " + kind + ": " + diagnostic.message;
}

std::string to_json(const Module& module, const Decompiled& result, const Check& check) {
  std::string out = "{\"source\": ";
  cli::append_json(out, result.source.text);
  out += ", \"lines\": [";
  bool first = true;
  for (const LineOrigin& line : result.line_map.lines) {
    if (!first) out += ", ";
    first = false;
    out += "{\"line\": " + std::to_string(line.line) + ", \"code\": ";
    cli::append_json(out, code_path(module, line.code));
    out += ", \"original_line\": " + std::to_string(line.original_line) + ", \"offsets\": [";
    bool first_offset = true;
    for (std::uint32_t offset : result.line_map.offsets_of(line)) {
      if (!first_offset) out += ", ";
      first_offset = false;
      out += std::to_string(offset);
    }
    out += "]}";
  }
  out += "], \"diagnostics\": [";
  first = true;
  for (const Diagnostic& diagnostic : result.diagnostics) {
    if (!first) out += ", ";
    first = false;
    out += "{\"kind\": ";
    cli::append_json(out, diagnostic_kind(diagnostic));
    out += ", \"code\": ";
    cli::append_json(out, code_path(module, diagnostic.code));
    out += ", \"offset\": " + std::to_string(diagnostic.offset) + ", \"message\": ";
    cli::append_json(out, diagnostic.message);
    out += '}';
  }
  out += ']';
  if (check.outcome != Check::NotAsked) {
    out += ", \"check\": {\"verdict\": ";
    cli::append_json(out, check.word());
    out += ", \"detail\": ";
    cli::append_json(out, check.detail);
    out += '}';
  }
  return out + "}\n";
}

struct FileResult {
  bool read = false;      // the input was a module
  bool complete = false;  // and every code object of it came through
  Check check;
};

FileResult decompile_file(const Options& options, const Input& input, bool to_folder, cli::Interpreters& interpreters) {
  FileResult result;
  try {
    Module module = cli::read_input(input, options.marshal_version);
    result.read = true;
    DecompileOptions how = options.decompile;
    how.line_map = options.format == Format::Json;
    Decompiled decompiled = decompile(module, how);
    result.complete = true;
    std::string messages;
    for (const Diagnostic& diagnostic : decompiled.diagnostics) {
      if (diagnostic.kind == Diagnostic::BrokenCode) result.complete = false;
      bool worth_telling = diagnostic.kind == Diagnostic::BrokenCode || (diagnostic.kind == Diagnostic::Ladder && diagnostic.level > 0);
      if (worth_telling) messages += "depyf: " + input.path.string() + ": " + diagnostic_text(module, diagnostic) + "\n";
    }
    if (options.check) {
      result.check = check_source(module, decompiled.source.text, input.path, interpreters);
      const bool short_word = result.check.outcome == Check::Compared && !result.check.refuted();
      if (!to_folder || !short_word) {
        const Colour colour = result.check.refuted() ? Colour::Red : short_word ? Colour::Green : Colour::Yellow;
        messages += painted("depyf:", colour, stderr) + " " + input.path.string() + ": " + std::string(result.check.word()) +
                    (result.check.detail.empty() ? "" : ": " + result.check.detail) + "\n";
      }
    }
    const bool as_json = options.format == Format::Json;
    std::string json = as_json ? to_json(module, decompiled, result.check) : std::string();
    std::string_view text = as_json ? std::string_view(json) : std::string_view(decompiled.source.text);
    if (to_folder) {
      std::filesystem::path output = std::filesystem::path(options.output) / input.output;
      if (as_json) output.replace_extension(".json");
      cli::write_file(output, text);
    } else {
      write_all(stdout, text);
    }
    if (!messages.empty()) write_all(stderr, messages);
  } catch (const std::exception& error) {  // std::bad_alloc and errors of the standard library too: the other files go on
    result.complete = false;
    std::string message = error.what();
    std::string path = input.path.string();
    report(message.starts_with(path) ? message : path + ": " + message);
  }
  return result;
}

int run_decompile(const Options& options) {
  std::vector<Input> inputs = cli::collect_inputs(options.paths, options.modules, options.interpreter);
  if (inputs.empty()) throw Error(options.paths[0] + ": there is no .pyc file in it");
  bool to_folder = !options.output.empty();
  if (inputs.size() > 1 && !to_folder)
    throw UsageError(std::to_string(inputs.size()) + " files would be decompiled: say where to with -o DIR");
  unsigned jobs = options.jobs ? options.jobs : std::max(1u, std::thread::hardware_concurrency());
  jobs = static_cast<unsigned>(std::min<std::size_t>(jobs, inputs.size()));
  std::atomic<std::size_t> next = 0, read = 0, complete = 0, done = 0;
  std::atomic<std::size_t> verdicts[4] = {}, refused = 0, unchecked = 0;
  bool progress = to_folder && isatty(STDERR_FILENO);
  std::mutex terminal;
  auto work = [&] {
    cli::Interpreters interpreters;
    while (true) {
      std::size_t i = next++;
      if (i >= inputs.size()) return;
      FileResult result = decompile_file(options, inputs[i], to_folder, interpreters);
      switch (result.check.outcome) {
        case Check::NotAsked: break;
        case Check::NoInterpreter: ++unchecked; break;
        case Check::NotCompiled: ++refused; break;
        case Check::Compared: ++verdicts[static_cast<std::size_t>(result.check.verdict)]; break;
      }
      read += result.read;
      complete += result.complete;
      std::size_t count = ++done;
      if (progress && (count % 16 == 0 || count == inputs.size())) {
        std::lock_guard lock(terminal);
        std::fprintf(stderr, "\r%zu of %zu files", count, inputs.size());
      }
    }
  };
  std::vector<std::jthread> threads;
  for (unsigned i = 1; i < jobs; ++i) threads.emplace_back(work);
  work();
  threads.clear();
  if (progress) std::fputc('\n', stderr);
  if (inputs.size() > 1) {
    std::string summary = std::to_string(inputs.size()) + " files: " + std::to_string(complete) + " decompiled";
    if (read != complete) summary += ", " + std::to_string(read - complete) + " in part";
    if (read != inputs.size()) summary += ", " + std::to_string(inputs.size() - read) + " could not be read";
    if (options.check) {
      summary += "; checked: ";
      for (VerdictKind kind : {VerdictKind::Identical, VerdictKind::Exact, VerdictKind::Equivalent, VerdictKind::Different})
        summary += std::to_string(verdicts[static_cast<std::size_t>(kind)]) + " " + std::string(verdict_word(kind)) + ", ";
      summary += std::to_string(refused) + " not compiled, " + std::to_string(unchecked) + " not checked";
    }
    report(summary, complete == inputs.size() ? Colour::Green : Colour::Yellow);
  }
  const bool refuted = refused != 0 || verdicts[static_cast<std::size_t>(VerdictKind::Different)] != 0;
  return read == 0 ? 2 : complete == inputs.size() && !refuted ? 0 : 1;
}

/// One code object as one JSON object a line, or as one `digraph`. False where a stage failed.
bool dump_graph_or_text(const Options& options, Module& module, CodeId code, const std::string& file) {
  const Stage stage = options.stage.value_or(Stage::Bytecode);
  StageGraph graph;
  std::string failure;
  try {
    graph = dump_graph(module, code, stage, options.decompile);
  } catch (const Error& error) {
    failure = error.what();
  }
  const std::string path = code_path(module, code);
  if (options.format == Format::Dot && failure.empty()) write_all(stdout, to_dot(graph, path));
  else if (options.format == Format::Dot) report(file + ": " + path + ": " + failure);
  else write_all(stdout, cli::stage_json(graph, file, path, module[code].firstlineno, failure));
  return failure.empty();
}

int run_dump(const Options& options) {
  Stage stage = options.stage.value_or(Stage::Bytecode);
  bool failed = false, read = false;
  for (const Input& input : cli::collect_inputs(options.paths, options.modules, options.interpreter)) {
    try {
      Module module = cli::read_input(input, options.marshal_version);
      read = true;
      auto count = static_cast<std::uint32_t>(module.codes.size());
      for (std::uint32_t id = 0; id < count; ++id) {
        std::string path = code_path(module, CodeId(id));
        bool wanted = options.code.empty() || path == options.code || path.ends_with("." + options.code);
        if (!wanted) continue;
        if (options.format != Format::Text) {
          failed |= !dump_graph_or_text(options, module, CodeId(id), input.path.string());
          continue;
        }
        std::string text;
        if (stage != Stage::Bytecode)  // which has a header of its own
          text = "== " + path + " (code " + std::to_string(id) + ", line " + std::to_string(module[CodeId(id)].firstlineno) + ")\n";
        try {
          text += dump_stage(module, CodeId(id), stage, options.decompile);
        } catch (const Error& error) {
          failed = true;
          text += std::string("failed: ") + error.what() + "\n";
        }
        write_all(stdout, text + "\n");
      }
    } catch (const Error& error) {
      failed = true;
      report(input.path.string() + ": " + error.what());
    }
  }
  return !read ? 2 : failed ? 1 : 0;
}

int run_compare(const Options& options) {
  Module a = cli::read_input({options.paths[0], {}, nullptr, 0, {}}, options.marshal_version);
  Module b = cli::read_input({options.paths[1], {}, nullptr, 0, {}}, options.marshal_version);
  Verdict verdict = verify(a, a.root, b, b.root);
  std::string text = painted(verdict_word(verdict.kind), colour_of(verdict.kind), stdout);
  if (!verdict.detail.empty()) text += ": " + verdict.detail;
  write_all(stdout, text + "\n");
  return verdict.kind == VerdictKind::Different ? 1 : 0;
}

}  // namespace

int run_command(std::span<const std::string> arguments, const std::string& interpreter) {
  bool help = arguments.empty();
  for (const std::string& argument : arguments) {
    if (argument == "--") break;
    help = help || argument == "-h" || argument == "--help";
  }
  if (help) {
    write_all(arguments.empty() ? stderr : stdout, kHelp);
    return arguments.empty() ? 2 : 0;
  }
  int code = 2;
  try {
    Options options = parse_options(arguments);
    options.interpreter = interpreter;
    switch (options.verb) {
      case Verb::Decompile: code = run_decompile(options); break;
      case Verb::Dis: case Verb::Dump: code = run_dump(options); break;
      case Verb::Compare: code = run_compare(options); break;
      case Verb::Completion:
        write_all(stdout, *completion_script(options.paths[0]));
        code = 0;
        break;
    }
  } catch (const UsageError& error) {
    report(std::string(error.what()) + " (see depyf --help)");
  } catch (const Error& error) {
    report(error.what());
  } catch (const std::bad_alloc&) {
    report("out of memory");
  }
  std::fflush(stdout);
  return code;
}

}  // namespace depyf

#include "cli/command.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "cli/completion.h"
#include "cli/inputs.h"
#include "cli/interpreter.h"
#include "cli/stage_json.h"
#include "pipeline/pipeline.h"
#include "pipeline/stage_graph.h"
#include "pyc/pyc.h"
#include "structure/steps.h"
#include "support/error.h"
#include "support/system.h"
#include "support/unicode.h"
#include "verify/verify.h"

namespace depyf {

namespace {

using cli::Input;

constexpr std::string_view kHelp =
    R"(usage: depyf decompile PATH... [-m MODULE] [-o DIR] [--force] [-j N] [--no-check]
                       [--format text|json] [--python 3.X]
       depyf dis PATH... [-m MODULE] [--code NAME] [--python 3.X]
       depyf dump --stage STAGE | --after STEP PATH... [-m MODULE] [--code NAME]
                  [--format text|dot|json] [--python 3.X]
       depyf compare A.pyc B.pyc
       depyf completion bash|zsh|fish

Python source from the bytecode of @SUPPORTED@.

decompile   print the source of .pyc files, of standard input (-), of every .pyc in a folder or a
            zip file, or of modules by name; with several files, -o names the output folder
dis         print the instructions, in version-free notation
dump        print the result of one stage for each code object
            (@STAGES@), or the graph
            of the stage structure after one of its steps (--after help lists them)
compare     do two files do the same? identical, exact or equivalent (proven), unproven, or
            different
completion  a script that completes this command in a shell, under the name that it is called by:
            source <(depyf completion bash), depyf completion fish | source

options
  -m, --module NAME       the module of that name, as python3 finds it; nothing is imported
  -o, --output DIR        write DIR/a/x.py for a/x.pyc and a/__pycache__/x.cpython-312.pyc;
                          a file that was given twice is written once
  --force                 overwrite files with other content in DIR; without it they are kept, and
                          the exit code is 1
  -j, --jobs N            files at a time (default: one for each processor)
  --check, --no-check     check the source (the default), or not: about four times as fast
  --format text|json|dot  json: source, line map and diagnostics, or what a stage made; dot: the
                          graph that flow, lift or simplify made, for Graphviz
  --python 3.X            the input is marshal data of that version, without a header
  --indentation N         columns of one level (default 4)
  --keep-temporaries      do not fold stack temporaries into expressions
  --ladder N              start at rung N of the fallbacks: 5 a dispatch loop, 6 rebuild from bytes
  --code NAME             dump, dis: only code objects whose qualified name is or ends in NAME
  -h, --help              this text
  --version               of depyf

check
  A CPython of the file's version compiles the source; nothing is executed. depyf then tries to
  prove that the result does the same as the file. A function that is not proven is written in
  another form: as a dispatch loop, or rebuilt from its bytes. Standard error names these functions,
  those that are not proven or could not be checked, and what a proof leaves out ("ignored:").

exit code
  0  done, also if no CPython of the version was found
  1  an input could not be read while others were, a part could not be decompiled or is not
     proven, the files differ, or output could not be written
  2  no input could be read, or the usage was wrong
  3  compare: unproven, neither the same nor different

environment
  DEPYF_PYTHONS           CPythons for the check, or folders that hold them, joined as in PATH;
                          those in PATH and of pyenv are found too
  DEPYF_CHECK_SECONDS     how long one may take for a file (default 60)
  NO_COLOR                no colours on a terminal

examples
  depyf decompile __pycache__/spam.cpython-312.pyc
  depyf decompile build/ -o src/ -j 4
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
  cli::HostPython host;
  std::string output;
  unsigned jobs = 0;
  Format format = Format::Text;
  bool check = true, force = false;
  std::optional<PyVersion> marshal_version;
  std::optional<Stage> stage;
  std::string after;  // dump: the step of structure()
  std::string code;
  DecompileOptions decompile;
};

/// Wrong usage: the message, then a pointer to --help, exit code 2.
struct UsageError : Error {
  using Error::Error;
};

unsigned parse_number(const std::string& option, const std::string& text, unsigned least,
                      unsigned most) {
  unsigned value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most)
    throw UsageError(option + " " + text + ": expected a number from " + std::to_string(least) +
                     " to " + std::to_string(most));
  return value;
}

Stage parse_stage(const std::string& text) {
  for (const StageRow& row : stages())
    if (text == row.name) return row.stage;
  throw UsageError("--stage " + text + ": expected one of" + filled_in(" @STAGES@"));
}

std::string parse_step(const std::string& text) {
  for (std::string_view step : structure_steps())
    if (text == step) return text;
  throw UsageError("--after " + text + ": expected one of" + filled_in(" @STEPS@"));
}

/// Those that the Python package has besides; its command takes them before they come here.
bool is_of_the_package(std::string_view verb) {
  return verb == "run" || verb == "try" || verb == "report" || verb == "diff";
}

Verb parse_verb(const std::string& text, bool in_python) {
  constexpr std::pair<std::string_view, Verb> kVerbs[] = {
      {"decompile", Verb::Decompile},
      {"dis", Verb::Dis},
      {"dump", Verb::Dump},
      {"compare", Verb::Compare},
      {"completion", Verb::Completion},
  };
  for (const auto& [name, verb] : kVerbs)
    if (text == name) return verb;
  if (text == "--version") throw UsageError("--version stands alone");
  throw UsageError(std::string(text.starts_with('-') ? "unknown option" : "unknown command") +
                   " '" + text + "': expected " +
                   (in_python ? "run, report, diff, decompile, dis, dump, compare or completion"
                              : "decompile, dis, dump, compare or completion"));
}

/// Throws UsageError where options that are right by themselves do not go together.
void check_options(const Options& options) {
  if (options.verb == Verb::Completion) {
    if (options.paths.size() != 1 || !completion_script(options.paths[0], "", false))
      throw UsageError("completion takes the name of a shell: bash, zsh or fish");
    return;
  }
  if (options.paths.empty() && options.modules.empty())
    throw UsageError("no input: give a .pyc file, a folder, a zip file or -m MODULE");
  if (options.verb == Verb::Compare && options.paths.size() != 2)
    throw UsageError("compare takes two files; given: " + std::to_string(options.paths.size()));
  if (options.verb == Verb::Dump && options.stage.has_value() != options.after.empty())
    throw UsageError(options.stage ? "--stage and --after exclude each other"
                                   : "dump needs --stage or --after: what is to be shown");
  const Stage stage = options.stage.value_or(Stage::Bytecode);
  if (options.format == Format::Dot && options.after.empty() &&
      !stages()[static_cast<std::size_t>(stage)].is_graph)
    throw UsageError(
        "--format dot shows graphs: those of --stage flow, lift and simplify, and of --after");
}

Options parse_options(std::span<const std::string> arguments, bool in_python) {
  Options options;
  options.verb = parse_verb(arguments[0], in_python);
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
    if (const std::string commands = commands_with(name);
        !commands.empty() && !takes(arguments[0], name))
      throw UsageError(arguments[0] + " takes no " + name + ", which is an option of " + commands);
    auto value = [&]() -> std::string {
      if (given) return *given;
      if (i + 1 == arguments.size()) throw UsageError(name + ": a value is missing");
      return arguments[++i];
    };
    if (name == "-o" || name == "--output") {
      options.output = value();
      if (options.output.empty()) throw UsageError(name + ": the folder's name is empty");
    } else if (name == "-j" || name == "--jobs")
      options.jobs = parse_number(name, value(), 1, 1024);
    else if (name == "--format") {
      std::string format = value();
      if (format == "text")
        options.format = Format::Text;
      else if (format == "json")
        options.format = Format::Json;
      else if (format == "dot" && options.verb == Verb::Dump)
        options.format = Format::Dot;
      else
        throw UsageError("--format " + format + ": expected text" +
                         (options.verb == Verb::Dump ? ", json or dot" : " or json"));
    } else if (name == "-m" || name == "--module")
      options.modules.push_back(value());
    else if (name == "--check")
      options.check = true;
    else if (name == "--no-check")
      options.check = false;
    else if (name == "--force" && options.verb == Verb::Decompile)
      options.force = true;
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
    else if (name == "--after")
      options.after = parse_step(value());
    else if (name == "--code")
      options.code = value();
    else
      throw UsageError("unknown option '" + name + "'");
  }
  check_options(options);
  return options;
}

void write_all(std::FILE* to, std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), to);
}

/// Text with names of the input in it, whose lines stay.
std::string lines_text(std::string_view text) { return terminal_text(text, Lines::Verbatim); }

/// A name of the input in a line of ours.
std::string name_of(const Module& module, CodeId code) {
  return terminal_text(code_path(module, code));
}

/// Colours only for a terminal whose user has not asked for none (https://no-color.org).
bool coloured(std::FILE* to) {
  const char *none = std::getenv("NO_COLOR"), *terminal = std::getenv("TERM");
  return is_terminal(to) && !(none && *none) && !(terminal && std::string_view(terminal) == "dumb");
}

enum class Colour : std::uint8_t { Red = 31, Green = 32, Yellow = 33 };

std::string painted(std::string_view text, Colour colour, std::FILE* to) {
  if (!coloured(to)) return std::string(text);
  return "\x1b[" + std::to_string(static_cast<int>(colour)) + "m" + std::string(text) + "\x1b[0m";
}

void report(const std::string& message, Colour colour = Colour::Red) {
  write_all(stderr, painted("depyf:", colour, stderr) + " " + lines_text(message) + "\n");
}

/// What is wrong with a file; some messages begin with its path, and some do not know it.
std::string about(const std::string& path, const std::string& message) {
  return message.starts_with(path) ? message : path + ": " + message;
}

Colour colour_of(VerdictKind kind) {
  return kind == VerdictKind::Different ? Colour::Red
         : is_proof(kind)               ? Colour::Green
                                        : Colour::Yellow;
}

/// What checking one file found.
struct Check {
  enum Outcome : std::uint8_t { NotAsked, NoModule, NoInterpreter, NotCompiled, Compared };
  Outcome outcome = NotAsked;
  VerdictKind verdict = VerdictKind::Different;
  std::string detail;
  std::vector<CodeId> codes;         // Compared, not proven: where
  std::vector<std::string> details;  // of each, where there are any
  std::uint32_t line = 0;            // NotCompiled: of the source

  bool proven() const { return outcome == Compared && is_proof(verdict); }
  bool refuted() const { return outcome >= NotCompiled && !proven(); }
  std::string_view word() const {
    if (outcome == Compared) return verdict_word(verdict);
    return outcome == NotCompiled ? "not compiled" : "not checked";
  }
  /// In words, for the user.
  std::string text() const {
    if (proven()) {
      std::string out = "proven (" + std::string(word()) + ")";
      if (!detail.empty()) out += "; " + detail;
      return out;
    }
    if (outcome == NoInterpreter || outcome == NoModule) return "not checked because " + detail;
    return refusal(detail);
  }
  /// Why the code object `codes[i]` has to take another form.
  std::string reason(std::size_t i) const {
    return i < details.size() ? refusal(details[i]) : text();
  }

 private:
  static std::string refusal(const std::string& why) {
    constexpr std::string_view said = "not proven: ";
    return why.starts_with(said) ? why : std::string(said) + why;
  }
};

/// The statements that the detail of a proof consists of.
std::vector<std::string> left_out(const Check& check) {
  std::vector<std::string> out;
  if (!check.proven()) return out;
  std::string_view rest = check.detail;
  while (!rest.empty()) {
    const std::size_t end =
        std::min(rest.find("; ignored: ", 1), rest.find("; taken for granted: ", 1));
    out.emplace_back(rest.substr(0, end));
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 2);
  }
  return out;
}

std::string python_name(PyVersion version) { return "CPython " + version.number(); }

/// The code objects that are below the plain form.
std::vector<bool> fallen_codes(const Module& module, const Decompiled& decompiled) {
  std::vector<bool> fallen(module.codes.size());
  for (const Diagnostic& diagnostic : decompiled.diagnostics)
    if (diagnostic.code && diagnostic.kind != Diagnostic::Note)
      fallen[diagnostic.code.index] =
          diagnostic.kind == Diagnostic::BrokenCode || diagnostic.level >= 5;
  return fallen;
}

/// Does `source`, compiled by the Python of that version, do what the module does?
Check check_source(Module& module, const Decompiled& decompiled, const std::filesystem::path& path,
                   cli::Compiler& compiler) {
  Check check;
  if (module[module.root].flags & (kOptimized | kNewLocals)) {
    check.outcome = Check::NoModule;
    check.detail = "it is the code of a function, not of a module";
    return check;
  }
  if (module[module.root].flags & (kGenerator | kCoroutine | kAsyncGenerator)) {
    check.outcome = Check::NoModule;
    check.detail =
        "it has `await` outside of a function, which only "
        "compile(…, flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT) takes";
    return check;
  }
  const std::optional<cli::Reply> compiled = compiler.compile(
      module.version, decompiled.source.text, path.filename().string(), module.optimization);
  if (!compiled) {
    check.outcome = Check::NoInterpreter;
    const std::string number = module.version.number();
    const std::string obstacle = Process::obstacle();
    if (!obstacle.empty()) {
      check.detail = python_name(module.version) + " could not be started (" + obstacle + ")";
      return check;
    }
    check.detail = python_name(module.version) + " was not found (DEPYF_PYTHONS=/path/to/python" +
                   number + " gives one)";
    return check;
  }
  check.outcome = Check::NotCompiled;
  if (!compiled->done) {
    check.line = compiled->line;
    check.detail = python_name(module.version) + (compiled->lost ? " " : " does not compile it: ");
    check.detail.append(compiled->bytes.begin(), compiled->bytes.end());
    return check;
  }
  try {
    Module again = read_marshal(compiled->bytes, module.version);
    VerifyOptions options;
    for (const Diagnostic& diagnostic : decompiled.diagnostics)
      if (diagnostic.kind == Diagnostic::Ladder && diagnostic.level == 6)
        options.rebuilt.push_back(diagnostic.code);
    const Verdict verdict = verify(module, module.root, again, again.root, options);
    check.outcome = Check::Compared;
    check.verdict = verdict.kind;
    // A module that is a loop, runs its own bytes or has names that are depyf's differs in what it
    // is made of, not in what it does.
    if (verdict.kind == VerdictKind::Different &&
        (fallen_codes(module, decompiled)[module.root.index] ||
         std::ranges::any_of(decompiled.diagnostics, [&](const Diagnostic& diagnostic) {
           return diagnostic.kind == Diagnostic::Note && diagnostic.level == kOwnNames &&
                  diagnostic.code == module.root;
         })))
      check.verdict = VerdictKind::Unproven;
    check.detail = verdict.detail;
    check.codes = verdict.codes;
    check.details = verdict.details;
  } catch (const Error& error) {
    check.detail = error.what();
  }
  return check;
}

/// The code object whose statement stands on `line` of the source.
CodeId code_at(const LineMap& map, std::uint32_t line, CodeId root) {
  CodeId found = root;
  std::uint32_t nearest = 0;
  for (const LineOrigin& origin : map.lines)
    if (origin.line <= line && origin.line >= nearest) {
      nearest = origin.line;
      found = origin.code;
    }
  return found;
}

struct Attempt {
  Decompiled decompiled;
  Check check;
  std::string message;  // where the plain form was not proven: what became of it
};

/// The module's source, checked. What is not proven takes the next form of the ladder, and if need
/// be so does the code object around it. What has no plain form stays as it is, and is told: a
/// dispatch loop can be read, bytes cannot.
Attempt decompile_checked(Module& module, const DecompileOptions& options,
                          const std::filesystem::path& path, cli::Compiler& compiler) {
  constexpr int most_forms = 8;
  constexpr std::uint8_t dispatch = 5, rebuilt = 6;
  Attempt best{decompile(module, options), {}, {}};
  best.check = check_source(module, best.decompiled, path, compiler);
  if (!best.check.refuted()) return best;
  const std::string plain = best.check.text();
  const std::vector<bool> fell = fallen_codes(module, best.decompiled);
  DecompileOptions how = options;
  how.line_map = true;
  how.fallbacks.resize(module.codes.size());
  // A source that does not compile is worth less than any that does.
  const auto faults = [](const Check& check) {
    if (check.proven()) return std::size_t{0};
    if (check.outcome == Check::NotCompiled) return SIZE_MAX;
    return check.codes.empty() ? SIZE_MAX - 1 : check.codes.size();
  };
  Check check = best.check;
  /// Does `code`, or one around it, have another form to try?
  const auto lower = [&](CodeId code, const std::string& why) {
    if (fell[code.index]) return false;
    // A module that is bytes is not proven either: only where its dispatch loop does not compile.
    const bool compiles = check.outcome != Check::NotCompiled;
    const auto last = [&] {
      return how.fallbacks[code.index].rung >=
             (code == module.root && compiles ? dispatch : rebuilt);
    };
    const CodeId refused = code;
    while (code && last()) code = module[code].parent;
    // Nor does the module's loop change what is in it.
    if (!code || (code == module.root && code != refused && compiles)) return false;
    Fallback& fallback = how.fallbacks[code.index];
    fallback.rung = fallback.rung < dispatch ? dispatch : rebuilt;
    fallback.reason = "the form above it on the ladder is " + why;
    return true;
  };
  std::optional<LineMap> lines;
  for (int form = 0; form < most_forms && check.refuted(); ++form) {
    if (check.outcome == Check::NotCompiled && check.line > 0) {
      if (!lines) lines = decompile(module, how).line_map;
      check.codes = {code_at(*lines, check.line, module.root)};
    }
    bool lowered = false;
    for (std::size_t i = 0; i < check.codes.size(); ++i)
      lowered |= lower(check.codes[i], check.reason(i));
    if (!lowered) break;
    Attempt next{decompile(module, how), {}, {}};
    next.check = check = check_source(module, next.decompiled, path, compiler);
    lines = next.decompiled.line_map;
    if (faults(check) >= faults(best.check)) continue;
    next.message = "the plain form was " + plain + "; this form is " + check.text();
    if (!options.line_map) next.decompiled.line_map = {};
    best = std::move(next);
  }
  return best;
}

std::string diagnostic_text(const Module& module, const Diagnostic& diagnostic) {
  std::string kind;
  switch (diagnostic.kind) {
    case Diagnostic::Ladder:
      kind = "ladder L" + std::to_string(diagnostic.level);
      break;
    case Diagnostic::BrokenCode:
      kind = "not decompiled";
      break;
    case Diagnostic::Note:
      kind = "note";
      break;
  }
  return name_of(module, diagnostic.code) + ": " + kind + ": " + diagnostic.message;
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
    out += std::string(", \"check\": {\"proven\": ") + (check.proven() ? "true" : "false") +
           ", \"verdict\": ";
    cli::append_json(out, check.word());
    out += ", \"detail\": ";
    cli::append_json(out, check.detail);
    out += '}';
  }
  return out + "}\n";
}

struct FileResult {
  bool read = false;       // the input was a module
  bool complete = false;   // and every code object of it came through
  bool unwritten = false;  // there was a result, and no way to write it
  Check check;
  std::vector<std::string> unproven;  // code objects, where they are known
  std::vector<std::string> fallen;    // code objects below the plain form, with their rungs
  std::vector<std::string> named;     // those that show names which the source had not
};

FileResult decompile_file(const Options& options, const Input& input, bool to_folder,
                          cli::Compiler& compiler) {
  FileResult result;
  try {
    Module module = cli::read_input(input, options.marshal_version);
    result.read = true;
    DecompileOptions how = options.decompile;
    how.line_map = options.format == Format::Json;
    Attempt attempt;
    if (options.check)
      attempt = decompile_checked(module, how, input.path, compiler);
    else
      attempt.decompiled = decompile(module, how);
    const Decompiled& decompiled = attempt.decompiled;
    result.check = attempt.check;
    result.complete = true;
    std::string messages;
    const auto tell = [&](const std::string& message, Colour colour) {
      messages += painted("depyf:", colour, stderr) + " " + terminal_text(input.path.string()) +
                  ": " + lines_text(message) + "\n";
    };
    for (const Diagnostic& diagnostic : decompiled.diagnostics) {
      if (diagnostic.kind == Diagnostic::BrokenCode) result.complete = false;
      const bool fell = diagnostic.kind == Diagnostic::Ladder && diagnostic.level > 0;
      const bool named = diagnostic.kind == Diagnostic::Note && diagnostic.level == kOwnNames;
      if (named) result.named.push_back(name_of(module, diagnostic.code));
      if (diagnostic.kind == Diagnostic::BrokenCode || fell || (named && !to_folder))
        tell(diagnostic_text(module, diagnostic),
             diagnostic.kind == Diagnostic::BrokenCode ? Colour::Red : Colour::Yellow);
      if (fell && diagnostic.level >= 5)
        result.fallen.push_back(name_of(module, diagnostic.code) + " (L" +
                                std::to_string(diagnostic.level) + ")");
    }
    for (CodeId code : result.check.codes) result.unproven.push_back(name_of(module, code));
    // In a folder, what is as it should be is in the summary, and so is a missing interpreter.
    if (!attempt.message.empty())
      tell(attempt.message, Colour::Yellow);
    else if (result.check.refuted())
      tell(result.check.text(), Colour::Red);
    else if (options.check && !to_folder)
      tell(result.check.text(), result.check.proven() ? Colour::Green : Colour::Yellow);
    else if (!to_folder)
      tell("not checked", Colour::Yellow);
    const bool as_json = options.format == Format::Json;
    std::string json = as_json ? to_json(module, decompiled, result.check) : std::string();
    std::string_view text =
        as_json ? std::string_view(json) : std::string_view(decompiled.source.text);
    if (to_folder) {
      std::filesystem::path output = std::filesystem::path(options.output) / input.output;
      if (as_json) output.replace_extension(".json");
      result.unwritten = true;
      cli::write_file(output, text, options.force);
      result.unwritten = false;
    } else {
      write_all(stdout, text);
    }
    if (!messages.empty()) write_all(stderr, messages);
  } catch (const std::exception& error) {  // std::bad_alloc and errors of the standard library too:
                                           // the other files go on
    result.complete = false;
    if (result.unwritten) result.check = {};
    report(terminal_text(about(input.path.string(), error.what())));
  }
  return result;
}

/// `3 words`, where there are any, after what is there already.
void add_count(std::string& text, std::size_t count, std::string_view words) {
  if (count == 0) return;
  if (!text.empty()) text += ", ";
  text += std::to_string(count) + " " + std::string(words);
}

/// `path: f, g`, of many names the first few.
std::string named(const std::string& path, const std::vector<std::string>& names) {
  constexpr std::size_t most = 10;
  std::string text = path;
  for (std::size_t i = 0; i < std::min(names.size(), most); ++i)
    text += (i ? ", " : ": ") + names[i];
  if (names.size() > most) text += " and " + std::to_string(names.size() - most) + " more";
  return text;
}

/// Of all files: what came of them, what was proven, and by name what the reader should look at.
void report_summary(const Options& options, const std::vector<Input>& inputs,
                    const std::vector<FileResult>& results) {
  constexpr std::size_t most_names = 20;
  std::size_t read = 0, complete = 0, unwritten = 0, proven = 0, containers = 0;
  std::map<std::string, std::size_t> unchecked;            // by the reason
  std::map<std::string, std::vector<std::string>> spared;  // what proofs leave out, of which files
  std::vector<std::string> refuted, fallen, own_names, left_outs;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const FileResult& result = results[i];
    containers += inputs[i].container;
    read += result.read;
    complete += result.complete;
    unwritten += result.unwritten;
    proven += result.check.proven();
    const std::string path = inputs[i].path.string();
    if (result.check.refuted()) refuted.push_back(named(path, result.unproven));
    if (result.check.outcome == Check::NoInterpreter || result.check.outcome == Check::NoModule)
      ++unchecked[result.check.text()];
    if (!result.fallen.empty()) fallen.push_back(named(path, result.fallen));
    if (!result.named.empty()) own_names.push_back(named(path, result.named));
    for (std::string& what : left_out(result.check)) spared[std::move(what)].push_back(path);
  }
  for (const auto& [what, paths] : spared) left_outs.push_back(named(what, paths));
  const std::size_t files = results.size() - containers;
  if (files == 0) return;  // what is wrong with each was said
  std::string summary = std::to_string(files) + (files == 1 ? " file: " : " files: ") +
                        std::to_string(complete) + " decompiled";
  add_count(summary, read - complete - unwritten, "in part");
  add_count(summary, unwritten, "not written");
  add_count(summary, files - read, "could not be read");
  add_count(summary, containers, containers == 1 ? "folder gave none" : "folders gave none");
  std::string checked;
  add_count(checked, proven, "proven");
  add_count(checked, refuted.size(), "not proven");
  for (const auto& [reason, count] : unchecked) add_count(checked, count, reason);
  if (!options.check) checked = "not checked";
  if (!checked.empty()) summary += "; " + checked;
  const bool good = complete == results.size() && refuted.empty();
  const auto list = [&](std::string_view title, const std::vector<std::string>& names) {
    if (names.empty()) return;
    summary += "\n  " + std::string(title) + ":";
    for (std::size_t i = 0; i < std::min(names.size(), most_names); ++i)
      summary += "\n    " + names[i];
    if (names.size() > most_names)
      summary += "\n    and " + std::to_string(names.size() - most_names) + " more";
  };
  list("not proven to do the same", refuted);
  list("with bodies that are a dispatch loop (L5) or rebuilt from bytes (L6)", fallen);
  list("with names that the source had not", own_names);
  list("what the proofs leave out, and of which files", left_outs);
  report(summary, good ? Colour::Green : Colour::Yellow);
}

/// What the options name; at least one.
std::vector<Input> inputs_of(const Options& options) {
  return cli::collect_inputs(options.paths, options.modules, options.host.program);
}

/// How far a command is, for who interrupts it.
struct Progress {
  std::atomic<std::size_t> files = 0, done = 0;
};

/// Said when the program is asked to end before it is done.
void last_words(const Progress& progress) {
  cli::end_writing();
  std::string text = "interrupted";
  if (progress.files > 1)
    text += ": " + std::to_string(progress.done) + " of " + std::to_string(progress.files) +
            " files are done";
  if (is_terminal(stderr)) std::fputc('\n', stderr);  // after "^C", or the line that counts
  report(text);
}

int run_decompile(const Options& options, Progress& so_far) {
  std::vector<Input> inputs = inputs_of(options);
  bool to_folder = !options.output.empty();
  const auto files = std::count_if(inputs.begin(), inputs.end(),
                                   [](const Input& input) { return input.refused.empty(); });
  if (files > 1 && !to_folder)
    throw UsageError(std::to_string(files) + " files: -o DIR says where their sources go");
  unsigned jobs = options.jobs ? options.jobs : std::max(1u, std::thread::hardware_concurrency());
  jobs = static_cast<unsigned>(std::min<std::size_t>(jobs, inputs.size()));
  std::vector<FileResult> results(inputs.size());
  std::atomic<std::size_t> next = 0;
  so_far.files = inputs.size();
  bool progress = to_folder && is_terminal(stderr);
  std::mutex terminal;
  cli::Interpreters interpreters(options.host);
  auto work = [&](bool own_thread) {
    cli::Compiler compiler(interpreters, own_thread);
    while (true) {
      std::size_t i = next++;
      if (i >= inputs.size()) return;
      results[i] = decompile_file(options, inputs[i], to_folder, compiler);
      std::size_t count = ++so_far.done;
      if (progress && (count % 16 == 0 || count == inputs.size())) {
        std::lock_guard lock(terminal);
        std::fprintf(stderr, "\r%zu of %zu files", count, inputs.size());
      }
    }
  };
  std::vector<std::jthread> threads;
  try {
    for (unsigned i = 1; i < jobs; ++i) threads.emplace_back(work, false);
  } catch (const std::system_error&) {  // as many as the system gives: this thread works, too
  }
  work(true);
  threads.clear();
  if (progress) std::fputc('\n', stderr);
  if (to_folder) report_summary(options, inputs, results);
  const auto all = [&](auto holds) { return std::all_of(results.begin(), results.end(), holds); };
  if (all([](const FileResult& result) { return !result.read; })) return 2;
  return all([](const FileResult& r) { return r.complete && !r.check.refuted(); }) ? 0 : 1;
}

/// One code object as one JSON object a line, or as one `digraph`. False where a stage failed.
bool dump_graph_or_text(const Options& options, Module& module, CodeId code,
                        const std::string& file) {
  const Stage stage = options.stage.value_or(Stage::Bytecode);
  StageGraph graph;
  std::string failure;
  try {
    graph = options.after.empty() ? dump_graph(module, code, stage, options.decompile)
                                  : dump_step(module, code, options.after, options.decompile);
  } catch (const Error& error) {
    failure = error.what();
  }
  const std::string path = code_path(module, code);
  if (options.format == Format::Dot && failure.empty())
    write_all(stdout, to_dot(graph, path));
  else if (options.format == Format::Dot)
    report(file + ": " + terminal_text(path) + ": " + failure);
  else
    write_all(stdout, cli::stage_json(graph, file, path, module[code].firstlineno, failure));
  return failure.empty();
}

int run_dump(const Options& options) {
  Stage stage = options.stage.value_or(Stage::Bytecode);
  bool failed = false, read = false, found = false;
  for (const Input& input : inputs_of(options)) {
    try {
      Module module = cli::read_input(input, options.marshal_version);
      read = true;
      auto count = static_cast<std::uint32_t>(module.codes.size());
      for (std::uint32_t id = 0; id < count; ++id) {
        std::string path = code_path(module, CodeId(id));
        bool wanted =
            options.code.empty() || path == options.code || path.ends_with("." + options.code);
        if (!wanted) continue;
        found = true;
        if (options.format != Format::Text) {
          failed |= !dump_graph_or_text(options, module, CodeId(id), input.path.string());
          continue;
        }
        std::string text;
        if (stage != Stage::Bytecode || !options.after.empty())  // which has a header of its own
          text = "== " + terminal_text(path) + " (code " + std::to_string(id) + ", line " +
                 std::to_string(module[CodeId(id)].firstlineno) + ")\n";
        try {
          text += options.after.empty()
                      ? dump_stage(module, CodeId(id), stage, options.decompile)
                      : dump_step(module, CodeId(id), options.after, options.decompile).text;
        } catch (const Error& error) {
          failed = true;
          text += std::string("failed: ") + error.what() + "\n";
        }
        write_all(stdout, lines_text(text) + "\n");
      }
    } catch (const Error& error) {
      failed = true;
      report(terminal_text(about(input.path.string(), error.what())));
    }
  }
  if (read && !found) {
    report("--code " + options.code + ": there is no code object of that name");
    return 2;
  }
  return !read ? 2 : failed ? 1 : 0;
}

int run_compare(const Options& options) {
  const auto read = [&](const std::string& path) {
    try {
      return cli::read_input({path, {}, nullptr, 0, {}}, options.marshal_version);
    } catch (const Error& error) {
      throw Error(about(path, error.what()));
    }
  };
  Module a = read(options.paths[0]), b = read(options.paths[1]);
  if (a.version != b.version)
    throw Error("files of different versions cannot be compared: " + options.paths[0] + " is of " +
                python_name(a.version) + ", " + options.paths[1] + " of " + python_name(b.version));
  VerifyOptions how;
  how.decompiled = false;
  Verdict verdict = verify(a, a.root, b, b.root, how);
  std::string text = painted(verdict_word(verdict.kind), colour_of(verdict.kind), stdout);
  if (!verdict.detail.empty()) text += ": " + terminal_text(verdict.detail);
  write_all(stdout, text + "\n");
  return is_proof(verdict.kind) ? 0 : verdict.kind == VerdictKind::Different ? 1 : 3;
}

}  // namespace

/// The exit code after what stands in the buffer was written; a reader that went away (`| head`) is
/// not worth a message.
int flushed(int code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  const int reason = errno;
  std::clearerr(stdout);
  if (reason != EPIPE)
    report("the output is not complete: standard output cannot be written (" +
           std::generic_category().message(reason) + ")");
  return code == 0 ? 1 : code;
}

int run_command(std::span<const std::string> arguments, const cli::HostPython& host,
                std::string_view program) {
  hold_standard_streams();
  if (!arguments.empty() && is_of_the_package(arguments[0])) {
    report("'" + arguments[0] +
           "' looks into torch.compile and needs Python: it is a command of the package depyf "
           "(its wheel, with PyTorch), not of this program, which only reads bytecode "
           "(see depyf --help)");
    return 2;
  }
  if (arguments.empty()) {
    write_all(stderr, kHelp.substr(0, kHelp.find("\n\n") + 1));
    write_all(stderr, "depyf --help says what they do.\n");
    return flushed(2);
  }
  bool help = false;
  for (const std::string& argument : arguments) {
    if (argument == "--") break;
    help = help || argument == "-h" || argument == "--help";
  }
  if (help) {
    write_all(stdout, filled_in(kHelp));
    return flushed(0);
  }
  if (arguments[0] == "--version" && arguments.size() == 1) {
    write_all(stdout, "depyf " DEPYF_VERSION "\n");
    return flushed(0);
  }
  int code = 2;
  Progress so_far;
  const Interruption interruption([&so_far] { last_words(so_far); });
  try {
    const bool in_package = static_cast<bool>(host.compile);
    Options options = parse_options(arguments, in_package);
    options.host = host;
    if (options.verb == Verb::Decompile && options.check)  // it starts interpreters
      for (const std::string& line : cli::unusable_settings()) report(line, Colour::Yellow);
    switch (options.verb) {
      case Verb::Decompile:
        code = run_decompile(options, so_far);
        break;
      case Verb::Dis:
      case Verb::Dump:
        code = run_dump(options);
        break;
      case Verb::Compare:
        code = run_compare(options);
        break;
      case Verb::Completion:
        write_all(stdout, *completion_script(options.paths[0], program, in_package));
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
  return flushed(code);
}

}  // namespace depyf

#include "cli/completion.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

#include "opcode/version.h"
#include "pipeline/pipeline.h"
#include "pipeline/stage_graph.h"
#include "structure/steps.h"

namespace depyf {

namespace {

struct Verb {
  std::string_view name, about;
  bool in_package;  ///< the Python package alone has it
};

constexpr Verb kVerbs[] = {
    {"decompile", "source of .pyc files", false},
    {"dis", "the instructions", false},
    {"dump", "what one stage made", false},
    {"compare", "do two files do the same", false},
    {"completion", "a script for a shell", false},
    {"run", "a program under depyf", true},
    {"try", "advice on a program", true},
    {"report", "a page from a dump", true},
    {"diff", "two dumps", true},
};

/// What an option takes: nothing, text that no shell knows, one of some words, a folder or a file.
enum class Value : std::uint8_t { None, Text, Words, Folder, File };

struct Option {
  std::string_view verb, short_name, long_name, about;
  Value value = Value::None;
  std::string_view words = {};  ///< of Value::Words, separated by blanks
};

constexpr Option kOptions[] = {
    {"decompile", "-m", "--module", "a module by name", Value::Text},
    {"decompile", "-o", "--output", "folder to write to", Value::Folder},
    {"decompile", "", "--force", "replace files in the folder"},
    {"decompile", "-j", "--jobs", "files at a time", Value::Text},
    {"decompile", "", "--check", "prove the output"},
    {"decompile", "", "--no-check", "do not prove the output"},
    {"decompile", "", "--format", "of the output", Value::Words, "text json"},
    {"decompile", "", "--python", "version of marshal data", Value::Words, "@VERSIONS@"},
    {"decompile", "", "--indentation", "columns of one level", Value::Text},
    {"decompile", "", "--keep-temporaries", "do not fold stack temporaries"},
    {"decompile", "", "--ladder", "rung of the fallbacks", Value::Text},
    {"dis", "-m", "--module", "a module by name", Value::Text},
    {"dis", "", "--code", "qualified name", Value::Text},
    {"dis", "", "--python", "version of marshal data", Value::Words, "@VERSIONS@"},
    {"dump", "", "--stage", "stage to show", Value::Words, "@STAGES@"},
    {"dump", "", "--after", "step of the structure stage", Value::Words, "@STEPS@"},
    {"dump", "-m", "--module", "a module by name", Value::Text},
    {"dump", "", "--code", "qualified name", Value::Text},
    {"dump", "", "--format", "of the output", Value::Words, "text json dot"},
    {"dump", "", "--python", "version of marshal data", Value::Words, "@VERSIONS@"},
    {"compare", "", "--python", "version of marshal data", Value::Words, "@VERSIONS@"},
    {"run", "", "--dump", "folder of the dump", Value::Folder},
    {"run", "", "--force", "overwrite another dump"},
    {"run", "", "--open", "open the report at the end"},
    {"run", "", "--json", "print the run as JSON"},
    {"run", "", "--no-caches", "without caches of torch"},
    {"run", "", "--no-follow", "without child processes"},
    {"run", "", "--advise", "only the changes that save most"},
    {"run", "", "--profile", "where the time of calls goes"},
    {"run", "", "--breaks", "only the graph breaks"},
    {"run", "", "--recompiles", "only the recompiles"},
    {"run", "", "--guards", "only the guards of a line", Value::Text},
    {"run", "", "--find-nonfinite", "the first NaN or infinity"},
    {"run", "", "--max-breaks", "graph breaks allowed", Value::Text},
    {"run", "", "--max-recompiles", "recompiles allowed", Value::Text},
    {"run", "", "--max-compile-seconds", "seconds allowed", Value::Text},
    {"run", "", "--backend", "of torch.compile", Value::Words, "eager aot_eager inductor"},
    {"run", "-m", "", "a module by name", Value::Text},
    {"try", "", "--all", "all changes with a patch"},
    {"try", "", "--patch", "where to write what helps", Value::File},
    {"try", "", "--backend", "of torch.compile", Value::Words, "eager aot_eager inductor"},
    {"try", "-m", "", "a module by name", Value::Text},
    {"report", "", "--open", "open the report"},
    {"report", "", "--page", "where to write the page", Value::File},
    {"report", "", "--text", "only the summary"},
    {"report", "", "--advise", "only the changes that save most"},
    {"diff", "", "--page", "write a page", Value::File},
    {"diff", "", "--lines", "lines of each text", Value::Text},
};
// Each verb has this one as well.
constexpr Option kHelp = {"", "-h", "--help", "usage and options"};

constexpr std::string_view kShells = "bash zsh fish";

/// What follows an option in the script of each shell, by its Value; @NAME@ and @WORDS@ are those
/// of the option.
struct ValueText {
  std::string_view bash, zsh, fish;
};

constexpr ValueText kValueTexts[] = {
    {"return", "", ""},
    {"return", ":@NAME@:", " -x"},
    {"_depyf_words \"@WORDS@\" \"$word\"; return", ":@NAME@:(@WORDS@)", " -x -a \"@WORDS@\""},
    {"_depyf_files -d \"$word\"; return", ":@NAME@:_files -/",
     " -x -a \"(__fish_complete_directories)\""},
    {"_depyf_files -f \"$word\"; return", ":@NAME@:_files", " -r"},
};
static_assert(std::size(kValueTexts) == static_cast<std::size_t>(Value::File) + 1);

void replace_all(std::string& text, std::string_view mark, const std::string& by) {
  for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at))
    text.replace(at, mark.size(), by);
}

std::string value_text(const Option& option, std::string_view ValueText::* shell) {
  std::string text(kValueTexts[static_cast<std::size_t>(option.value)].*shell);
  const std::string_view name = option.long_name.empty() ? option.short_name : option.long_name;
  replace_all(text, "@NAME@", std::string(name.substr(name.find_first_not_of('-'))));
  replace_all(text, "@WORDS@", std::string(option.words));
  return text;
}

/// The options of a verb, `--help` last.
std::vector<Option> options_of(const Verb& verb) {
  std::vector<Option> found;
  for (const Option& option : kOptions)
    if (option.verb == verb.name) found.push_back(option);
  found.push_back(kHelp);
  return found;
}

/// The names of an option, with `between` between two.
std::string names_of(const Option& option, std::string_view between) {
  std::string names(option.short_name);
  if (!option.short_name.empty() && !option.long_name.empty()) names += between;
  return names.append(option.long_name);
}

std::string quoted(std::string_view text) { return "\"" + std::string(text) + "\""; }

constexpr std::string_view kBashHead =
    R"(# bash completion for @PROGRAM@: source <(@PROGRAM@ completion bash)
_depyf_words() {
    compopt +o filenames 2>/dev/null
    COMPREPLY=($(compgen -W "$1" -- "$2"))
}
# names may hold blanks; bash 3.2 has no mapfile
_depyf_files() {
    local name
    COMPREPLY=()
    while IFS= read -r name; do COMPREPLY+=("$name"); done < <(compgen "$1" -- "$2")
}
@FUNCTION@() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
    local verb=${COMP_WORDS[1]} options=
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        _depyf_words "@VERBS@ --help --version" "$word"
        return
    fi
)";

constexpr std::string_view kBashTail = R"(    case $word in
        -*) _depyf_words "$options" "$word" ;;
        *) _depyf_files -f "$word" ;;
    esac
}
complete -o filenames -F @FUNCTION@ @PROGRAM@
)";

std::string bash_script(const std::vector<Verb>& verbs) {
  std::string values, lists;
  for (const Verb& verb : verbs) {
    if (verb.name == "completion") {
      lists += "        completion) _depyf_words " + quoted(kShells) + " \"$word\"; return ;;\n";
      continue;
    }
    std::string names;
    for (const Option& option : options_of(verb)) {
      names += (names.empty() ? "" : " ") + names_of(option, " ");
      if (option.value == Value::None) continue;
      for (std::string_view name : {option.short_name, option.long_name})
        if (!name.empty())
          values += "        " + quoted(std::string(verb.name) + " " + std::string(name)) + ") " +
                    value_text(option, &ValueText::bash) + " ;;\n";
    }
    lists += "        " + std::string(verb.name) + ") options=" + quoted(names) + " ;;\n";
  }
  return std::string(kBashHead) + "    case \"$verb $before\" in\n" + values + "    esac\n" +
         "    case $verb in\n" + lists + "    esac\n" + std::string(kBashTail);
}

std::string zsh_script(const std::vector<Verb>& verbs) {
  std::string out =
      "#compdef @PROGRAM@\n"
      "# zsh completion for @PROGRAM@: source <(@PROGRAM@ completion zsh)\n"
      "@FUNCTION@() {\n    local -a verbs\n    verbs=(\n";
  for (const Verb& verb : verbs)
    out += "        '" + std::string(verb.name) + ":" + std::string(verb.about) + "'\n";
  out +=
      "    )\n    if (( CURRENT == 2 )); then\n        _describe command verbs\n        return\n"
      "    fi\n    case $words[2] in\n";
  for (const Verb& verb : verbs) {
    out += "        " + std::string(verb.name) + ") ";
    if (verb.name == "completion") {
      out += "_values shell " + std::string(kShells) + " ;;\n";
      continue;
    }
    out += "_arguments -s";
    for (const Option& option : options_of(verb)) {
      const bool two = !option.short_name.empty() && !option.long_name.empty();
      const std::string names = names_of(option, ",");
      out += " \\\n            " + (two ? "{" + names + "}'" : "'" + names) + "[" +
             std::string(option.about) + "]" + value_text(option, &ValueText::zsh) + "'";
    }
    out += " \\\n            '*:file:_files' ;;\n";
  }
  return out + "    esac\n}\ncompdef @FUNCTION@ @PROGRAM@\n";
}

std::string fish_script(const std::vector<Verb>& verbs) {
  std::string out =
      "# fish completion for @PROGRAM@: @PROGRAM@ completion fish | source\n"
      "set -l verbs @VERBS@\n";
  for (const Verb& verb : verbs) {
    out += "complete -c @PROGRAM@ -n \"not __fish_seen_subcommand_from $verbs\" -f -a " +
           std::string(verb.name) + " -d " + quoted(verb.about) + "\n";
    const std::string of =
        "complete -c @PROGRAM@ -n \"__fish_seen_subcommand_from " + std::string(verb.name) + "\"";
    if (verb.name == "completion") {
      out += of + " -f -a " + quoted(kShells) + "\n";
      continue;
    }
    for (const Option& option : options_of(verb)) {
      out += of;
      if (!option.short_name.empty()) out.append(" -s ").append(option.short_name.substr(1));
      if (!option.long_name.empty()) out.append(" -l ").append(option.long_name.substr(2));
      out += value_text(option, &ValueText::fish) + " -d " + quoted(option.about) + "\n";
    }
  }
  return out;
}

bool is_alphanumeric(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// A name that means itself in each shell.
bool is_plain(std::string_view name) {
  const auto is_plain_char = [](char c) {
    return is_alphanumeric(c) || std::string_view("._+-").find(c) != std::string_view::npos;
  };
  return !name.empty() && name[0] != '-' && std::all_of(name.begin(), name.end(), is_plain_char);
}

/// Of a program with another name: two of them may be completed in one shell.
std::string function_of(std::string_view program) {
  std::string name("_");
  for (char c : program) name += is_alphanumeric(c) ? c : '_';
  return name;
}

}  // namespace

std::string filled_in(std::string_view text) {
  std::string versions, stages, steps, out(text);
  for (unsigned minor = kOldest; minor <= kNewest; ++minor)
    versions += (versions.empty() ? "3." : " 3.") + std::to_string(minor);
  for (const StageRow& row : depyf::stages()) {
    if (!stages.empty()) stages += ' ';
    stages += row.name;
  }
  for (std::string_view step : structure_steps()) {
    if (!steps.empty()) steps += ' ';
    steps += step;
  }
  replace_all(out, "@STEPS@", steps);
  replace_all(out, "@VERSIONS@", versions);
  replace_all(out, "@SUPPORTED@", supported_versions());
  replace_all(out, "@STAGES@", stages);
  return out;
}

std::optional<std::string> completion_script(std::string_view shell, std::string_view program,
                                             bool in_package) {
  std::vector<Verb> verbs;
  std::string text, names;
  for (const Verb& verb : kVerbs)
    if (in_package || !verb.in_package) {
      verbs.push_back(verb);
      names.append(names.empty() ? "" : " ").append(verb.name);
    }
  if (shell == "bash") text = bash_script(verbs);
  if (shell == "zsh") text = zsh_script(verbs);
  if (shell == "fish") text = fish_script(verbs);
  if (text.empty()) return std::nullopt;
  program.remove_prefix(program.find_last_of("/\\") + 1);
  if (!is_plain(program)) program = "depyf";
  replace_all(text, "@VERBS@", names);
  replace_all(text, "@FUNCTION@", function_of(program));
  replace_all(text, "@PROGRAM@", std::string(program));
  return filled_in(text);
}

bool takes(std::string_view command, std::string_view option) {
  return std::ranges::any_of(kOptions, [&](const Option& one) {
    return one.verb == command && (one.long_name == option || one.short_name == option);
  });
}

std::string commands_with(std::string_view option) {
  std::string found;
  for (const Verb& verb : kVerbs)
    if (!verb.in_package && takes(verb.name, option))
      found += (found.empty() ? "" : ", ") + std::string(verb.name);
  return found;
}

}  // namespace depyf

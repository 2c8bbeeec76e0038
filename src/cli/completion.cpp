#include "cli/completion.h"

#include <algorithm>

#include "opcode/version.h"
#include "pipeline/pipeline.h"
#include "pipeline/stage_graph.h"
#include "structure/steps.h"

namespace depyf {

namespace {

constexpr std::string_view kBash =
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
    local command=${COMP_WORDS[1]} options=
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        options="@COMMANDS@ --help --version"
        _depyf_words "$options" "$word"
        return
    fi
    case $before in
        --stage) _depyf_words "@STAGES@" "$word"; return ;;
        --after) _depyf_words "@STEPS@" "$word"; return ;;
        --format) _depyf_words "text json dot" "$word"; return ;;
        --python) _depyf_words "@VERSIONS@" "$word"; return ;;
@PACKAGE{@
        --backend) _depyf_words "eager aot_eager inductor" "$word"; return ;;
        --guards|--lines|--max-*) return ;;
        --dump) _depyf_files -d "$word"; return ;;
@}PACKAGE@
        -m|--module|-j|--jobs|--code|--indentation|--ladder) return ;;
        -o|--output) _depyf_files -d "$word"; return ;;
    esac
    case $command in
        decompile)
            options="-m --module -o --output --force -j --jobs --no-check --format --python"
            options="$options --indentation --keep-temporaries --ladder --help" ;;
        dis) options="-m --module --code --python --help" ;;
        dump) options="--stage --after -m --module --code --format --python --help" ;;
@PACKAGE{@
        run)
            options="--dump --force --open --json --no-caches --no-follow --advise --profile"
            options="$options --breaks --recompiles --guards --find-nonfinite --max-breaks"
            options="$options --max-recompiles --max-compile-seconds --backend -m --help" ;;
        report) options="--open --text --help" ;;
        diff) options="--page --lines --help" ;;
@}PACKAGE@
        compare) options="--python --help" ;;
        completion) _depyf_words "bash zsh fish" "$word"; return ;;
    esac
    case $word in
        -*) _depyf_words "$options" "$word" ;;
        *) _depyf_files -f "$word" ;;
    esac
}
complete -o filenames -F @FUNCTION@ @PROGRAM@
)";

constexpr std::string_view kZsh = R"(#compdef @PROGRAM@
# zsh completion for @PROGRAM@: source <(@PROGRAM@ completion zsh)
@FUNCTION@() {
    local -a commands
    commands=(
        'decompile:source of .pyc files' 'dis:the instructions' 'dump:what one stage made'
        'compare:do two files do the same' 'completion:a script for a shell'
@PACKAGE{@
        'run:a program under depyf' 'report:a page from a dump' 'diff:two dumps'
@}PACKAGE@
    )
    if (( CURRENT == 2 )); then
        _describe command commands
        return
    fi
    case $words[2] in
        completion) _values shell bash zsh fish ;;
@PACKAGE{@
        run) _arguments \
            '--dump[where to write]:folder:_files -/' '--force[write over another dump]' \
            '--open[open the report at the end]' '--json[print the run as JSON]' \
            '--no-caches[without caches of torch]' '--no-follow[without workers]' \
            '--advise[only the changes worth most]' '--profile[where the time goes]' \
            '--breaks[only graph breaks]' '--recompiles[only recompiles]' \
            '--guards[only guards of a line]:line:' '--find-nonfinite[the first NaN or infinity]' \
            '--max-breaks[allowed]:number:' '--max-recompiles[allowed]:number:' \
            '--max-compile-seconds[allowed]:number:' \
            '--backend[of torch.compile]:name:(eager aot_eager inductor)' \
            '-m[a module]:module:' '--help' '*:file:_files' ;;
        report) _arguments '--open[in a browser]' '--text[no page]' '--help' '*:dump:_files' ;;
        diff) _arguments '--page[as HTML]:file:_files' '--lines[of each text]:number:' '--help' \
            '*:dump:_files' ;;
@}PACKAGE@
        *) _arguments -s \
            '--stage[stage]:stage:(@STAGES@)' '--after[step of structure]:step:(@STEPS@)' \
            '--format[format]:format:(text json dot)' \
            '--python[version of marshal data]:version:(@VERSIONS@)' \
            {-m,--module}'[module by name]:module:' \
            {-o,--output}'[folder]:folder:_files -/' \
            {-j,--jobs}'[files at a time]:number:' \
            '--force[replace files in the folder]' \
            '--no-check[do not prove the output]' \
            '--code[qualified name]:name:' '--indentation[columns]:number:' \
            '--keep-temporaries' '--ladder[rung]:number:' {-h,--help} '*:file:_files' ;;
    esac
}
compdef @FUNCTION@ @PROGRAM@
)";

constexpr std::string_view kFish =
    R"fish(# fish completion for @PROGRAM@: @PROGRAM@ completion fish | source
set -l commands @COMMANDS@
complete -c @PROGRAM@ -n "not __fish_seen_subcommand_from $commands" -f -a "$commands"
complete -c @PROGRAM@ -n "__fish_seen_subcommand_from completion" -f -a "bash zsh fish"
complete -c @PROGRAM@ -l stage -x -a "@STAGES@"
complete -c @PROGRAM@ -l after -x -a "@STEPS@"
complete -c @PROGRAM@ -l format -x -a "text json dot"
complete -c @PROGRAM@ -l python -x -a "@VERSIONS@"
complete -c @PROGRAM@ -s m -l module -x
complete -c @PROGRAM@ -s o -l output -r -a "(__fish_complete_directories)"
complete -c @PROGRAM@ -s j -l jobs -x
complete -c @PROGRAM@ -l force
complete -c @PROGRAM@ -l no-check
complete -c @PROGRAM@ -l code -x
complete -c @PROGRAM@ -l indentation -x
complete -c @PROGRAM@ -l keep-temporaries
complete -c @PROGRAM@ -l ladder -x
complete -c @PROGRAM@ -s h -l help
@PACKAGE{@
set -l in_run "__fish_seen_subcommand_from run"
complete -c @PROGRAM@ -n "$in_run" -l dump -r -a "(__fish_complete_directories)"
complete -c @PROGRAM@ -n "$in_run" -l force
complete -c @PROGRAM@ -n "$in_run" -l open
complete -c @PROGRAM@ -n "$in_run" -l json
complete -c @PROGRAM@ -n "$in_run" -l no-caches
complete -c @PROGRAM@ -n "$in_run" -l no-follow
complete -c @PROGRAM@ -n "$in_run" -l advise
complete -c @PROGRAM@ -n "$in_run" -l profile
complete -c @PROGRAM@ -n "$in_run" -l breaks
complete -c @PROGRAM@ -n "$in_run" -l recompiles
complete -c @PROGRAM@ -n "$in_run" -l guards -x
complete -c @PROGRAM@ -n "$in_run" -l find-nonfinite
complete -c @PROGRAM@ -n "$in_run" -l max-breaks -x
complete -c @PROGRAM@ -n "$in_run" -l max-recompiles -x
complete -c @PROGRAM@ -n "$in_run" -l max-compile-seconds -x
complete -c @PROGRAM@ -n "$in_run" -l backend -x -a "eager aot_eager inductor"
complete -c @PROGRAM@ -n "__fish_seen_subcommand_from report" -l open
complete -c @PROGRAM@ -n "__fish_seen_subcommand_from report" -l text
complete -c @PROGRAM@ -n "__fish_seen_subcommand_from diff" -l page -r
complete -c @PROGRAM@ -n "__fish_seen_subcommand_from diff" -l lines -x
@}PACKAGE@
)fish";

void replace_all(std::string& text, std::string_view mark, const std::string& by) {
  for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at))
    text.replace(at, mark.size(), by);
}

/// Keeps what stands between the lines @PACKAGE{@ and @}PACKAGE@, or takes it out; the two lines
/// go.
void choose_package(std::string& text, bool keep) {
  constexpr std::string_view kOpen = "@PACKAGE{@\n", kClose = "@}PACKAGE@\n";
  for (std::size_t at = text.find(kOpen); at != std::string::npos; at = text.find(kOpen, at)) {
    const std::size_t end = text.find(kClose, at);
    text.erase(end, kClose.size());
    text.erase(at, keep ? kOpen.size() : end - at);
  }
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
  std::string text;
  if (shell == "bash") text = kBash;
  if (shell == "zsh") text = kZsh;
  if (shell == "fish") text = kFish;
  if (text.empty()) return std::nullopt;
  program.remove_prefix(program.find_last_of("/\\") + 1);
  if (!is_plain(program)) program = "depyf";
  choose_package(text, in_package);
  replace_all(text, "@COMMANDS@",
              std::string("decompile dis dump compare completion") +
                  (in_package ? " run report diff" : ""));
  replace_all(text, "@FUNCTION@", function_of(program));
  replace_all(text, "@PROGRAM@", std::string(program));
  return filled_in(text);
}

}  // namespace depyf

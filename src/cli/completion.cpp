#include "cli/completion.h"

#include "opcode/version.h"
#include "pipeline/pipeline.h"
#include "pipeline/stage_graph.h"
#include "structure/steps.h"

namespace depyf {

namespace {

constexpr std::string_view kBash = R"(# bash completion for depyf: source <(depyf completion bash)
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
_depyf() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
    local command=${COMP_WORDS[1]} options=
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        options="decompile dis dump compare completion run report diff --help --version"
        _depyf_words "$options" "$word"
        return
    fi
    case $before in
        --stage) _depyf_words "@STAGES@" "$word"; return ;;
        --after) _depyf_words "@STEPS@" "$word"; return ;;
        --format) _depyf_words "text json dot" "$word"; return ;;
        --python) _depyf_words "@VERSIONS@" "$word"; return ;;
        --backend) _depyf_words "eager aot_eager inductor" "$word"; return ;;
        -m|--module|-j|--jobs|--code|--indentation|--ladder|--lines|--max-*) return ;;
        -o|--output|--dump) _depyf_files -d "$word"; return ;;
    esac
    case $command in
        decompile)
            options="-m --module -o --output --force -j --jobs --no-check --format --python"
            options="$options --indentation --keep-temporaries --ladder --help" ;;
        dis) options="-m --module --code --python --help" ;;
        dump) options="--stage --after -m --module --code --format --python --help" ;;
        run)
            options="--dump --force --open --json --no-caches --no-follow --advise --profile"
            options="$options --breaks --recompiles --guards --find-nonfinite --max-breaks"
            options="$options --max-recompiles --max-compile-seconds --backend -m --help" ;;
        report) options="--open --text --help" ;;
        diff) options="--page --lines --help" ;;
        compare) options="--python --help" ;;
        completion) _depyf_words "bash zsh fish" "$word"; return ;;
    esac
    case $word in
        -*) _depyf_words "$options" "$word" ;;
        *) _depyf_files -f "$word" ;;
    esac
}
complete -o filenames -F _depyf depyf
)";

constexpr std::string_view kZsh = R"(#compdef depyf
# zsh completion for depyf: source <(depyf completion zsh)
_depyf() {
    local -a commands
    commands=(
        'decompile:source of .pyc files' 'dis:the instructions' 'dump:what one stage made'
        'compare:do two files do the same' 'completion:a script for a shell'
        'run:a program under depyf' 'report:a page from a dump' 'diff:two dumps'
    )
    if (( CURRENT == 2 )); then
        _describe command commands
        return
    fi
    case $words[2] in
        completion) _values shell bash zsh fish ;;
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
compdef _depyf depyf
)";

constexpr std::string_view kFish =
    R"fish(# fish completion for depyf: depyf completion fish | source
set -l commands decompile dis dump compare completion run report diff
complete -c depyf -n "not __fish_seen_subcommand_from $commands" -f -a "$commands"
complete -c depyf -n "__fish_seen_subcommand_from completion" -f -a "bash zsh fish"
complete -c depyf -l stage -x -a "@STAGES@"
complete -c depyf -l after -x -a "@STEPS@"
complete -c depyf -l format -x -a "text json dot"
complete -c depyf -l python -x -a "@VERSIONS@"
complete -c depyf -s m -l module -x
complete -c depyf -s o -l output -r -a "(__fish_complete_directories)"
complete -c depyf -s j -l jobs -x
complete -c depyf -l force
complete -c depyf -l no-check
complete -c depyf -l code -x
complete -c depyf -l indentation -x
complete -c depyf -l keep-temporaries
complete -c depyf -l ladder -x
complete -c depyf -s h -l help
set -l in_run "__fish_seen_subcommand_from run"
complete -c depyf -n "$in_run" -l dump -r -a "(__fish_complete_directories)"
complete -c depyf -n "$in_run" -l force
complete -c depyf -n "$in_run" -l open
complete -c depyf -n "$in_run" -l json
complete -c depyf -n "$in_run" -l no-caches
complete -c depyf -n "$in_run" -l no-follow
complete -c depyf -n "$in_run" -l advise
complete -c depyf -n "$in_run" -l profile
complete -c depyf -n "$in_run" -l breaks
complete -c depyf -n "$in_run" -l recompiles
complete -c depyf -n "$in_run" -l guards -x
complete -c depyf -n "$in_run" -l find-nonfinite
complete -c depyf -n "$in_run" -l max-breaks -x
complete -c depyf -n "$in_run" -l max-recompiles -x
complete -c depyf -n "$in_run" -l max-compile-seconds -x
complete -c depyf -n "$in_run" -l backend -x -a "eager aot_eager inductor"
complete -c depyf -n "__fish_seen_subcommand_from report" -l open
complete -c depyf -n "__fish_seen_subcommand_from report" -l text
complete -c depyf -n "__fish_seen_subcommand_from diff" -l page -r
complete -c depyf -n "__fish_seen_subcommand_from diff" -l lines -x
)fish";

void replace_all(std::string& text, std::string_view mark, const std::string& by) {
  for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at))
    text.replace(at, mark.size(), by);
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

std::optional<std::string> completion_script(std::string_view shell) {
  if (shell == "bash") return filled_in(kBash);
  if (shell == "zsh") return filled_in(kZsh);
  if (shell == "fish") return filled_in(kFish);
  return std::nullopt;
}

}  // namespace depyf

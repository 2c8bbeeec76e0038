"""The `depyf` command: the core's own subcommands, reached through the extension, and those about
torch.compile.
"""

import errno
import os
import sys

from depyf.messages import complain

TYPE_CHECKING = False  # as type checkers read it; what few verbs need is imported by them
if TYPE_CHECKING:
    import argparse
    from typing import Any, Callable, Dict, List, NoReturn, Optional, Tuple

_OURS = ("run", "try", "report", "diff")
#: errors of a write to a standard output that exists
_UNWRITTEN = (errno.ENOSPC, errno.EIO, errno.EBADF, errno.EFBIG)

#: the verbs of the core, which src/cli parses
_CORE = ("decompile", "dis", "dump", "compare", "completion")

_HELP = """\
depyf shows what torch.compile makes from a program, and decompiles Python bytecode.

about torch.compile:
  depyf run [options] SCRIPT [ARGUMENT...]     run a program and write what torch.compile made
  depyf run [options] -m MODULE [ARGUMENT...]
  depyf try [options] SCRIPT [ARGUMENT...]     try what depyf run --advise has a patch for
  depyf report DUMP...                         build the report of a dump again; compare ranks
  depyf diff DUMP_A DUMP_B                     show the differences between two dumps
(each command has --help)

about bytecode:
"""


def _parser() -> "Tuple[argparse.ArgumentParser, Dict[str, argparse.ArgumentParser]]":
    """The parser of the whole command, and the parser of each verb."""
    import argparse

    class Parser(argparse.ArgumentParser):
        """A parser that exits with the right code also if its text cannot be written."""

        def print_help(self, file: "Any" = None) -> None:
            if _quietly(lambda: print(self.format_help(), end="")):
                raise SystemExit(1)

        def error(self, message: str) -> "NoReturn":
            complain("%s%s: error: %s\n" % (self.format_usage(), self.prog, message))
            raise SystemExit(2)

    parser = Parser(prog="depyf", allow_abbrev=False)
    verbs = parser.add_subparsers(dest="verb")
    return parser, {
        "run": _add_run(verbs),
        "try": _add_try(verbs),
        "report": _add_report(verbs),
        "diff": _add_diff(verbs),
    }


def _add_run(verbs: "Any") -> "argparse.ArgumentParser":
    run: "argparse.ArgumentParser" = verbs.add_parser(
        "run",
        allow_abbrev=False,
        help="run a program and write what torch.compile makes from it",
        usage="depyf run [options] (SCRIPT | - | -m MODULE) [ARGUMENT...]",
        description="Runs a program as python would, writes what torch.compile made to a folder "
        "(the dump), and prints a summary to standard error. Exit code and exceptions are the "
        "program's own, except where a --max option is exceeded.",
        epilog="with torchrun: torchrun --nproc-per-node 2 -m depyf run SCRIPT; each rank writes "
        "DIR/rank_N. If a signal ends the program (SIGTERM, SIGKILL), the dump has no report and "
        "no summary is printed: `depyf report DIR` makes both. exit code: the program's own, also "
        "if the dump could not be written; 1 Python finds no such module; 2 the program was not "
        "started for another reason; 3 it ended well, and a --max option is exceeded",
    )
    _add_outputs(run)
    _add_questions(run)
    _add_budgets(run)
    _add_program(run)
    return run


def _add_outputs(run: "argparse.ArgumentParser") -> None:
    import argparse

    run.add_argument(
        "--dump",
        metavar="DIR",
        help="folder of the dump (default: depyf_dump, with a number if another program's dump is "
        "there)",
    )
    run.add_argument(
        "--force", action="store_true", help="overwrite a dump even if it is of another program"
    )
    run.add_argument("--open", action="store_true", help="open the report in a browser at the end")
    run.add_argument(
        "--json",
        action="store_true",
        help="print the run as JSON to standard output at the end; what the program prints goes to "
        "standard error",
    )
    run.add_argument(
        "--no-caches",
        dest="caches",
        action="store_false",
        help="turn torch's compile caches off, so that torch computes every stage and depyf shows "
        "it",
    )
    run.add_argument(
        "--no-follow",
        dest="follow",
        action="store_false",
        help="do not capture processes that the program starts with multiprocessing or subprocess",
    )
    # what `depyf try` runs: texts in place of files, and nothing is said at the end
    run.add_argument("--texts", metavar="FILE", help=argparse.SUPPRESS)


def _add_questions(run: "argparse.ArgumentParser") -> None:
    run.add_argument(
        "--advise",
        action="store_true",
        help="print only the three changes that save most, with a patch where depyf can write one",
    )
    run.add_argument(
        "--profile", action="store_true", help="measure where the time of compiled calls goes"
    )
    run.add_argument("--breaks", action="store_true", help="print only the graph breaks")
    run.add_argument("--recompiles", action="store_true", help="print only the recompiles")
    run.add_argument(
        "--guards", metavar="LINE", help="print only the guards from LINE or FILE:LINE of your code"
    )
    run.add_argument(
        "--find-nonfinite",
        action="store_true",
        help="run captured graphs operation by operation and name the first operation that made "
        "NaN or infinity",
    )


def _add_budgets(run: "argparse.ArgumentParser") -> None:
    for name, what in (
        ("breaks", "graph breaks"),
        ("recompiles", "recompiles"),
        ("compile-seconds", "seconds of compile time"),
    ):
        run.add_argument(
            "--max-" + name,
            type=_seconds if name == "compile-seconds" else _count,
            metavar="N",
            help="exit code 3 if there are more than N %s" % what,
        )


def _add_try(verbs: "Any") -> "argparse.ArgumentParser":
    trial: "argparse.ArgumentParser" = verbs.add_parser(
        "try",
        allow_abbrev=False,
        help="run a program with each change that the advice has a patch for, and compare",
        usage="depyf try [options] (SCRIPT | -m MODULE) [ARGUMENT...]",
        description="Runs a program as it is, then again with each change of `depyf run --advise` "
        "that has a patch, one on top of the other, and says of each what the run found: whether "
        "the program prints the same, and what torch compiled. A change that does not help is left "
        "out of the next runs. No file of the program is changed; what the program itself writes "
        "is written in each run. It is run without input.",
        epilog="exit code: 0 done; 1 output could not be written, or there is nothing to write to "
        "--patch; 2 the program was not started, or left no dump",
    )
    trial.add_argument(
        "--all", action="store_true", help="try all changes with a patch, not those of three"
    )
    trial.add_argument("--patch", metavar="FILE", help="write the changes that help to FILE")
    _add_program(trial)
    return trial


def _add_program(run: "argparse.ArgumentParser") -> None:
    import argparse

    run.add_argument(
        "--backend",
        metavar="NAME",
        help="compile with this backend in place of the program's; eager and aot_eager need no C++ "
        "compiler",
    )
    run.add_argument(
        "-m", dest="module", nargs=argparse.REMAINDER, metavar="MODULE", help="run a module"
    )
    run.add_argument("program", nargs=argparse.REMAINDER, metavar="SCRIPT", help=argparse.SUPPRESS)


def _add_report(verbs: "Any") -> "argparse.ArgumentParser":
    report: "argparse.ArgumentParser" = verbs.add_parser(
        "report",
        allow_abbrev=False,
        help="build the report of a dump again",
        usage="depyf report [--open] [--page FILE | --text | --advise] DUMP...",
        description="Builds the report, index.html, from dumps or from a log of TORCH_TRACE. "
        "For a distributed run it also names what torch compiled differently on different ranks. "
        "A folder with rank_0, rank_1, ... is one distributed run; several folders together are, "
        "too.",
        epilog="exit code: 0 done; 1 ranks differ, or output could not be written; 2 a dump could "
        "not be read, or the usage was wrong",
    )
    report.add_argument("--open", action="store_true", help="open the report in a browser")
    report.add_argument(
        "--page", metavar="FILE", help="write the page to FILE, not to index.html of the dump"
    )
    report.add_argument("--text", action="store_true", help="only print the summary")
    report.add_argument(
        "--advise",
        action="store_true",
        help="only print the three changes that save most, as depyf run --advise does",
    )
    report.add_argument("dumps", nargs="+", metavar="DUMP")
    return report


def _add_diff(verbs: "Any") -> "argparse.ArgumentParser":
    diff: "argparse.ArgumentParser" = verbs.add_parser(
        "diff",
        allow_abbrev=False,
        help="compare two dumps",
        usage="depyf diff [--page FILE] [--lines N] DUMP_A DUMP_B",
        description="Shows the differences between two dumps: functions, graphs, breaks, guards "
        "and kernels that were added, removed or changed. Numbers in names that change from run to "
        "run, addresses and paths of caches do not count.",
        epilog="exit code: 0 the same; 1 different, or output could not be written; 2 a dump could "
        "not be read, or the usage was wrong",
    )
    diff.add_argument("--page", metavar="FILE", help="write the differences as an HTML page too")
    diff.add_argument(
        "--lines",
        type=int,
        default=40,
        metavar="N",
        help="print at most N lines of each text difference (default 40)",
    )
    diff.add_argument("a", metavar="DUMP_A")
    diff.add_argument("b", metavar="DUMP_B")
    return diff


def main(argv: "Optional[List[str]]" = None) -> int:
    """Run the command with `argv` (without the program's name); returns the exit code."""
    try:
        return _main(list(sys.argv[1:] if argv is None else argv), argv is None)
    except ImportError as error:
        if "depyf._core" not in str(error):
            raise
        complain("depyf: %s\n" % error)
        return 2


def _main(arguments: "List[str]", is_process: bool) -> int:
    if arguments == ["--version"]:
        from depyf.installed import description

        return _quietly(lambda: print(_encodable(description())))
    if not arguments or arguments in (["--help"], ["-h"]):
        if not arguments:
            complain(_HELP)
        elif _quietly(lambda: print(_HELP, end="", flush=True)):
            return 1
    if not arguments or arguments[0] not in _OURS:
        meant = _meant(arguments[0]) if arguments else None
        if meant:
            complain("depyf: no command %r; did you mean %r?\n" % (arguments[0], meant))
            return 2
        return _core_command(arguments)
    parser, verbs = _parser()
    run_parser = verbs["run"]
    if arguments in (["run"], ["try"]):
        complain(verbs[arguments[0]].format_help())
        return 2
    options, unknown = parser.parse_known_args(arguments)
    if unknown:
        told = "unrecognized arguments: " + " ".join(unknown)
        meant = _meant_option(unknown[0], verbs[arguments[0]].format_help())
        verbs[arguments[0]].error(told + "; did you mean %s?" % meant if meant else told)
    if options.verb in ("run", "try"):
        if not (options.module or options.program):
            verbs[options.verb].error("give a script, or -m and a module")
        if options.program[:1] == ["--"]:
            del options.program[0]
        if options.module and options.program:  # -mMODULE in one word leaves its arguments there
            options.module, options.program = options.module + options.program, []
    if options.verb == "run":
        if options.backend and options.find_nonfinite:
            run_parser.error("--find-nonfinite uses its own backend; leave --backend out")
        if options.guards is not None:
            from depyf.summary import guards_text

            try:
                guards_text({"functions": [], "unattributed": []}, options.guards)
            except ValueError as error:
                run_parser.error(str(error))
        from depyf import launch

        options.is_process = is_process
        return launch.run(options)
    import functools

    if options.verb == "try":
        if options.program[:1] == ["-"]:
            verbs["try"].error("a program of standard input cannot be run twice; give a file")
        from depyf.try_command import try_command as command
    elif options.verb == "report":
        from depyf.report_command import report_command as command
    else:
        from depyf.diff_command import diff_command as command
    return _quietly(functools.partial(command, options))


def _meant(word: str) -> "Optional[str]":
    """The command that is most similar to an unknown word, or None."""
    import difflib

    known = _OURS + _CORE
    if word in known or word.startswith("-"):
        return None
    return next(iter(difflib.get_close_matches(word, known, 1, 0.6)), None)


def _meant_option(word: str, help: str) -> "Optional[str]":
    """The option in a command's help that is most similar to an unknown one, or None."""
    import difflib
    import re

    known = re.findall(r"(?m)^  (--[\w-]+)", help)
    return next(iter(difflib.get_close_matches(word.partition("=")[0], known, 1, 0.75)), None)


def _from_zero(text: str, number: "Callable[[str], Any]") -> "Any":
    """The number that a text holds; ArgumentTypeError if it holds none, or one below 0."""
    import argparse

    try:
        found = number(text)
    except ValueError:
        found = None
    if found is None or not found >= 0:  # nan is not
        raise argparse.ArgumentTypeError("%r is not a number of 0 or more" % text)
    return found


def _count(text: str) -> int:
    return int(_from_zero(text, int))


def _seconds(text: str) -> float:
    return float(_from_zero(text, float))


def _core_command(arguments: "List[str]") -> int:
    """Runs a verb of the core, which checks its output with this process's own compiler."""
    import marshal
    import signal
    import threading
    import warnings

    from depyf.installed import _core

    def compiled(source: bytes, filename: str, optimize: int) -> bytes:
        return marshal.dumps(
            compile(source, filename, "exec", dont_inherit=True, optimize=optimize)
        )

    # The core runs no bytecode, so Python's own handler would see Ctrl-C only at the end.
    handler = None
    if threading.current_thread() is threading.main_thread():
        handler = signal.getsignal(signal.SIGINT)
        if handler is signal.default_int_handler:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        # Warnings about the source are for its author; with -W error they would be exceptions.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _core.main(arguments, compiled)
    finally:
        if handler is signal.default_int_handler:
            signal.signal(signal.SIGINT, handler)


def _quietly(command: "Callable[[], Any]") -> int:
    """Runs a command that prints, and returns the exit code.

    A closed pipe (`depyf ... | head`) is no error, and the interpreter must not write to it again
    at exit. Output that cannot be written is exit code 1, unless the command failed by itself.
    Ctrl-C ends the command without a traceback.
    """
    code = 0
    try:
        code = command() or 0
        if sys.stdout is None:
            return code or _incomplete("it is closed")
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return _interrupted()
    except OSError as error:
        unread = isinstance(error, BrokenPipeError)
        if not unread and (error.filename is not None or error.errno not in _UNWRITTEN):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return code if unread else code or _incomplete(str(error.strerror))


def _interrupted() -> int:
    """Ends this process by SIGINT, so that a shell's loop ends with it."""
    import signal

    complain("depyf: interrupted\n")
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGINT)
    return 130  # if the signal is blocked


def _incomplete(why: str) -> int:
    complain("depyf: the output is not complete: standard output cannot be written (%s)\n" % why)
    return 1


def _encodable(text: str) -> str:
    """The text, with escapes for characters that standard output cannot encode.

    In the C locale, the name of a file has a surrogate for each byte that is not ASCII. Such a byte
    is written unchanged if standard output allows it, and is decoded as UTF-8 otherwise.
    """
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    if getattr(sys.stdout, "errors", None) == "surrogateescape":
        return "".join(
            one
            if "\udc80" <= one <= "\udcff"
            else one.encode(encoding, "backslashreplace").decode(encoding)
            for one in text
        )
    try:
        text = text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:
        pass  # a name of Windows that is no text
    return text.encode(encoding, "backslashreplace").decode(encoding)


if __name__ == "__main__":
    sys.exit(main())

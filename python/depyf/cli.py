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

_OURS = ("run", "report", "diff")
#: errors of a write to standard output that is there
_UNWRITTEN = (errno.ENOSPC, errno.EIO, errno.EBADF, errno.EFBIG)

#: those of the core, which src/cli reads
_CORE = ("decompile", "dis", "dump", "compare", "completion")

_HELP = """\
depyf shows what torch.compile makes of a program, and decompiles Python bytecode.

about torch.compile:
  depyf run [options] SCRIPT [ARGUMENT...]     run a program and dump what torch.compile made
  depyf run [options] -m MODULE [ARGUMENT...]
  depyf report DUMP...                         build the page of a dump again; compare ranks
  depyf diff DUMP_A DUMP_B                     what appeared, vanished or changed
(each with --help)

about bytecode:
"""


def _parser() -> "Tuple[argparse.ArgumentParser, Dict[str, argparse.ArgumentParser]]":
    """The parser of all of them, and that of each."""
    import argparse

    class Parser(argparse.ArgumentParser):
        """One whose exit code is right also where its text cannot be written."""

        def print_help(self, file: "Any" = None) -> None:
            if _quietly(lambda: print(self.format_help(), end="")):
                raise SystemExit(1)

        def error(self, message: str) -> "NoReturn":
            complain("%s%s: error: %s\n" % (self.format_usage(), self.prog, message))
            raise SystemExit(2)

    parser = Parser(prog="depyf", allow_abbrev=False)
    verbs = parser.add_subparsers(dest="verb")
    return parser, {"run": _add_run(verbs), "report": _add_report(verbs), "diff": _add_diff(verbs)}


def _add_run(verbs: "Any") -> "argparse.ArgumentParser":
    run: "argparse.ArgumentParser" = verbs.add_parser(
        "run",
        allow_abbrev=False,
        help="run a program and look at what torch.compile makes of it",
        usage="depyf run [options] (SCRIPT | -m MODULE) [ARGUMENT...]",
        description="Runs a program as python would, and leaves a dump and a summary of what "
        "torch.compile made. "
        "Exit code and exceptions are the program's own; the summary goes to standard error.",
        epilog="with torchrun: torchrun --nproc-per-node 2 -m depyf run SCRIPT; each rank writes "
        "DIR/rank_N. A program that a signal ends (SIGTERM, SIGKILL) leaves its dump without page "
        "and summary: `depyf report DIR` makes both",
    )
    _add_outputs(run)
    _add_questions(run)
    _add_budgets(run)
    _add_program(run)
    return run


def _add_outputs(run: "argparse.ArgumentParser") -> None:
    run.add_argument(
        "--dump",
        metavar="DIR",
        help="where to write (default: depyf_dump, numbered where another program's is there)",
    )
    run.add_argument(
        "--force", action="store_true", help="write over the dump of another program, too"
    )
    run.add_argument("--open", action="store_true", help="open the report in a browser at the end")
    run.add_argument(
        "--json",
        action="store_true",
        help="print the run as JSON at the end; standard output holds nothing else, as what the "
        "program prints goes to standard error",
    )
    run.add_argument(
        "--no-caches",
        dest="caches",
        action="store_false",
        help="turn torch's compile caches off, so that every stage is computed and shown",
    )
    run.add_argument(
        "--no-follow",
        dest="follow",
        action="store_false",
        help="do not look at workers that the program starts by multiprocessing or subprocess",
    )


def _add_questions(run: "argparse.ArgumentParser") -> None:
    run.add_argument(
        "--advise",
        action="store_true",
        help="print only the three changes worth most, with patches where they can be written",
    )
    run.add_argument(
        "--profile", action="store_true", help="say where the time goes once it is compiled"
    )
    run.add_argument("--breaks", action="store_true", help="print only the graph breaks")
    run.add_argument("--recompiles", action="store_true", help="print only the recompiles")
    run.add_argument(
        "--guards", metavar="LINE", help="print only the guards from LINE or FILE:LINE of your code"
    )
    run.add_argument(
        "--find-nonfinite",
        action="store_true",
        help="run captured graphs operation by operation and name the first that made NaN or "
        "infinity",
    )


def _add_budgets(run: "argparse.ArgumentParser") -> None:
    for name, what in (
        ("breaks", "graph breaks"),
        ("recompiles", "recompiles"),
        ("compile-seconds", "seconds of compiling"),
    ):
        run.add_argument(
            "--max-" + name,
            type=_seconds if name == "compile-seconds" else _count,
            metavar="N",
            help="exit code 3 if there are more than N %s" % what,
        )


def _add_program(run: "argparse.ArgumentParser") -> None:
    import argparse

    run.add_argument(
        "--backend",
        metavar="NAME",
        help="compile with this backend in place of the program's, such as eager or aot_eager, "
        "which need no C++ compiler",
    )
    run.add_argument(
        "-m", dest="module", nargs=argparse.REMAINDER, metavar="MODULE", help="run a module"
    )
    run.add_argument("program", nargs=argparse.REMAINDER, metavar="SCRIPT", help=argparse.SUPPRESS)


def _add_report(verbs: "Any") -> "argparse.ArgumentParser":
    report: "argparse.ArgumentParser" = verbs.add_parser(
        "report",
        allow_abbrev=False,
        help="build the page of a dump again",
        usage="depyf report [--open] [--text] DUMP...",
        description="Builds index.html from dumps, or from a log of TORCH_TRACE, and says where "
        "ranks of a distributed "
        "run were compiled differently. A folder with rank_0, rank_1, ... is one distributed run; "
        "so are several folders.",
        epilog="exit code: 0 done; 1 ranks differ; 2 a dump could not be read",
    )
    report.add_argument("--open", action="store_true", help="open the page in a browser")
    report.add_argument("--text", action="store_true", help="print the summary only; write no page")
    report.add_argument("dumps", nargs="+", metavar="DUMP")
    return report


def _add_diff(verbs: "Any") -> "argparse.ArgumentParser":
    diff: "argparse.ArgumentParser" = verbs.add_parser(
        "diff",
        allow_abbrev=False,
        help="compare two dumps",
        usage="depyf diff [--page FILE] [--lines N] DUMP_A DUMP_B",
        description="What appeared, vanished or changed between two dumps: functions, graphs, "
        "breaks, guards, kernels. "
        "Names with numbers that differ from run to run, addresses and paths of caches are no "
        "difference.",
        epilog="exit code: 0 the same; 1 different; 2 a dump could not be read",
    )
    diff.add_argument("--page", metavar="FILE", help="write the differences as an HTML page too")
    diff.add_argument(
        "--lines",
        type=int,
        default=40,
        metavar="N",
        help="lines of each text difference (default 40)",
    )
    diff.add_argument("a", metavar="DUMP_A")
    diff.add_argument("b", metavar="DUMP_B")
    return diff


def main(argv: "Optional[List[str]]" = None) -> int:
    """Run the command with `argv` (without the program's name); returns the exit code."""
    try:
        return _main(list(sys.argv[1:] if argv is None else argv))
    except ImportError as error:
        if "depyf._core" not in str(error):
            raise
        complain("depyf: %s\n" % error)
        return 2


def _main(arguments: "List[str]") -> int:
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
    if arguments == ["run"]:
        complain(run_parser.format_help())
        return 2
    options, unknown = parser.parse_known_args(arguments)
    if unknown:
        told = "unrecognized arguments: " + " ".join(unknown)
        meant = _meant_option(unknown[0], verbs[arguments[0]].format_help())
        verbs[arguments[0]].error(told + "; did you mean %s?" % meant if meant else told)
    if options.verb == "run":
        if not (options.module or options.program):
            run_parser.error("give a script, or -m and a module")
        if options.program[:1] == ["--"]:
            del options.program[0]
        if options.module and options.program:  # -mMODULE in one word leaves its arguments there
            options.module, options.program = options.module + options.program, []
        if options.backend and options.find_nonfinite:
            run_parser.error("--find-nonfinite has a backend of its own; leave --backend out")
        if options.guards is not None:
            from depyf.summary import guards_text

            try:
                guards_text({"functions": [], "unattributed": []}, options.guards)
            except ValueError as error:
                run_parser.error(str(error))
        from depyf import launch

        return launch.run(options)
    import functools

    if options.verb == "report":
        from depyf.report_command import report_command as command
    else:
        from depyf.diff_command import diff_command as command
    return _quietly(functools.partial(command, options))


def _meant(word: str) -> "Optional[str]":
    """The command that a word which is none comes close to, or None."""
    import difflib

    known = _OURS + _CORE
    if word in known or word.startswith("-"):
        return None
    return next(iter(difflib.get_close_matches(word, known, 1, 0.6)), None)


def _meant_option(word: str, help: str) -> "Optional[str]":
    """The option in a command's help that a word which is none comes close to, or None."""
    import difflib
    import re

    known = re.findall(r"(?m)^  (--[\w-]+)", help)
    return next(iter(difflib.get_close_matches(word.partition("=")[0], known, 1, 0.75)), None)


def _from_zero(text: str, number: "Callable[[str], Any]") -> "Any":
    """The number that a text holds; ArgumentTypeError for what is none, or below 0."""
    import argparse

    try:
        found = number(text)
    except ValueError:
        found = None
    if found is None or not found >= 0:  # nan is not
        raise argparse.ArgumentTypeError("%r is no number from 0 on" % text)
    return found


def _count(text: str) -> int:
    return int(_from_zero(text, int))


def _seconds(text: str) -> float:
    return float(_from_zero(text, float))


def _core_command(arguments: "List[str]") -> int:
    """The core's subcommands; they check their output with this process's own compiler."""
    import marshal
    import signal
    import threading
    import warnings

    from depyf.installed import _core

    def compiled(source: bytes, filename: str, optimize: int) -> bytes:
        return marshal.dumps(
            compile(source, filename, "exec", dont_inherit=True, optimize=optimize)
        )

    # The core runs no bytecode in between, so that Python would see Ctrl-C only at the end.
    handler = None
    if threading.current_thread() is threading.main_thread():
        handler = signal.getsignal(signal.SIGINT)
        if handler is signal.default_int_handler:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        # Those about the source are its author's; with -W error they would be exceptions.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _core.main(arguments, compiled)
    finally:
        if handler is signal.default_int_handler:
            signal.signal(signal.SIGINT, handler)


def _quietly(command: "Callable[[], Any]") -> int:
    """Runs what prints, which may be read by `head`: a pipe that is closed is no error, and the
    interpreter must not try again at its end. Output that cannot be written is a failure, and so
    is the exit code of a command that failed by itself. Ctrl-C ends it without a traceback.
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
    """Ends this process as Ctrl-C ends others, so that a shell's loop ends with it."""
    import signal

    complain("depyf: interrupted\n")
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGINT)
    return 130  # where the signal is blocked


def _incomplete(why: str) -> int:
    complain("depyf: the output is not complete: standard output cannot be written (%s)\n" % why)
    return 1


def _encodable(text: str) -> str:
    """The text with escapes for what standard output has no bytes for.

    In the locale C a file's name has a surrogate for each byte that is not ASCII: such a byte is
    written as it is where standard output lets it pass, else what it is in UTF-8.
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

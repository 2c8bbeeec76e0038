"""`depyf try`: the changes of the advice that have a patch, each tried on the program itself."""

import argparse
import sys
from typing import Dict, List, Mapping

from depyf.advise.change import Change
from depyf.advise.source import text_of
from depyf.messages import complain
from depyf.terminal import hyperlinks, shown, tell
from depyf.trying.patching import applied
from depyf.trying.runs import Outcome, Runner, counts_of, ended_by_signals
from depyf.trying.verdict import counted, ended, ended_because, verdict

#: changes that are tried, as many as `depyf run --advise` shows
_MOST = 3


def try_command(options: argparse.Namespace) -> int:
    """`depyf try`; returns the exit code."""
    words = ["-m"] + options.module if options.module else list(options.program)
    given = ["--backend", options.backend] if options.backend else []
    try:
        with ended_by_signals(), Runner(words, given) as runner:
            return _try(options, runner)
    except OSError as error:
        complain("depyf try: %s\n" % error)
        return 2


def _try(options: argparse.Namespace, runner: Runner) -> int:
    from depyf.advise import text
    from depyf.advise.listing import Advice
    from depyf.advise.patches import diff_of
    from depyf.follow import merged

    complain("depyf try: running the program as it is\n")
    first = runner.run()
    if first.document is None:
        complain("".join(one + "\n" for one in first.errors))
        complain("depyf try: the program %s and left no dump\n" % ended(first))
        return 2
    document = merged(first.document, first.workers)
    document.pop("folder", None)  # it is gone at the end
    advice = Advice(document)
    most = sys.maxsize if options.all else _MOST
    trial = _Trial(runner, first)
    for number, change in enumerate(advice.listed(most)[:most], 1):
        trial.follow(number, change, advice.listed(most)[: number - 1])
    tell("as it is: " + counted(counts_of(first), first.seconds))
    if first.code:
        tell("the program " + ended_because(first))
    tell(text(document, hyperlinks(sys.stdout), most=most, advice=advice, tried=trial.rows))
    tell(trial.summary())
    if options.patch is None:
        return 0
    if not trial.texts:
        complain("depyf try: %s was not written, as no change helped\n" % shown(options.patch))
        return 1
    with open(options.patch, "w", encoding="utf-8") as stream:
        for path, changed in trial.texts.items():
            stream.write(diff_of(path, text_of(path) or "", changed, context=3))
    return 0


class _Trial:
    """Follows changes one on top of the other, and keeps those that help.

    Attributes:
        rows: what each trial found, by the number of its change.
        texts: of the files that the changes which help have changed, by absolute path.
    """

    def __init__(self, runner: Runner, first: Outcome) -> None:
        self.rows: Dict[int, List[str]] = {}
        self.texts: Dict[str, str] = {}
        self._runner = runner
        self._last = first
        self._again: List[Outcome] = []  # a second run of what `_last` is a run of
        self._kept: Dict[int, str] = {}  # patches
        self._made: List[Change] = []

    def follow(self, number: int, change: Change, above: List[Change]) -> None:
        """Tries one change, if it has a patch that can be made now."""
        from depyf.advise.patches import beyond
        from depyf.advise.wording import patch_now, waits

        if not patch_now(change, above):
            return
        if waits(change, self._made):
            self.rows[number] = ["not tried: another change is to be made first"]
            return
        patch = beyond(change.patch, self._kept)
        texts = applied(patch, self.texts) if patch.startswith("---") else None
        if texts is None:
            why_not = "its patch is made already" if self._kept else "its patch has no place"
            self.rows[number] = ["not tried: " + why_not]
            return
        complain("depyf try: running it with change %d\n" % number)
        found = self._runner.run(texts)
        told = verdict(self._last, found, self._run_again)
        on_top = ", on top of %s" % _numbers(self._kept) if self._kept else ""
        self.rows[number] = ["tried%s: %s" % (on_top, told.words)] + [
            "   " + one for one in told.rows
        ]
        if told.kept:
            self.texts, self._last, self._again = texts, found, []
            self._kept[number] = change.patch
            self._made.append(change)

    def _run_again(self) -> Outcome:
        if not self._again:
            complain("depyf try: running it again without, to see what differs from run to run\n")
            self._again.append(self._runner.run(self.texts))
        return self._again[0]

    def summary(self) -> str:
        """What all changes that help do together."""
        if not self.rows:
            return "nothing was tried: no change has a patch"
        if not self._kept:
            return "no change that was tried helps"
        counts = counts_of(self._last)
        return "with %s: %s" % (_numbers(self._kept), counted(counts, self._last.seconds))


def _numbers(kept: Mapping[int, str]) -> str:
    """ "change 1" or "changes 1, 2 and 4"."""
    texts = [str(one) for one in kept]
    last = " and ".join(filter(None, [", ".join(texts[:-1]), texts[-1]]))
    return "change%s %s" % ("s"[len(texts) == 1 :], last)

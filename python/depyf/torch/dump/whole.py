"""Writes a run that was captured without a folder."""

from depyf import summary
from depyf.model import Problem, Run
from depyf.torch.dump.writer import DumpWriter


class _Standalone:
    """What a `DumpWriter` needs of a session, for a run that was captured without one."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.log_bytecode = False

    def problem(self, where: str, message: str, detail: str = "") -> None:
        self.run.problems.append(Problem(where, message, detail))


def dump_run(run: Run, folder: str) -> str:
    """Writes the files of a captured run; see `Run.dump`."""
    writer = DumpWriter(folder)
    session = _Standalone(run)
    for entry in run.entries():
        for artifact in entry.artifacts:  # those of an earlier dump are read back and written again
            artifact._text, artifact.path = artifact.text, None
    # of this folder alone; another dump of the run may lack files, too
    others, run._unwritten = run._unwritten, {}
    try:
        writer.opened(session)
        for function in run.functions:
            for entry in function.entries:
                writer.entry_seen(session, function, entry)
        writer.closed(session)
        lacks = summary.unwritten(run._unwritten)
    finally:
        run._unwritten = others
    if lacks:
        raise OSError("%s is incomplete: %s" % (writer.folder, lacks))
    return writer.folder

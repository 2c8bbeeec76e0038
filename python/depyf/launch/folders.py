"""The folder that a run is dumped to."""

import os
from typing import Any, Optional, TextIO

from depyf import paths, summary
from depyf.launch.program import LaunchError
from depyf.terminal import shown


def dump_folder(options: Any, program: str, stream: TextIO) -> Optional[str]:
    """Where the dump is written; None for a run of which only text is wanted."""
    folder: Optional[str] = options.dump
    only_text = options.breaks or options.recompiles or options.guards is not None or options.json
    if folder is None and not (only_text or options.advise):
        folder = own_folder("depyf_dump", program, options.force, stream)
    elif folder is not None and not options.force:
        other = _dumped_program(folder)
        if other and not _same_program(other, program):
            raise LaunchError(
                "--dump %s holds the dump of %s; --force overwrites it; nothing was run"
                % (folder, shown(other))
            )
    refused = _cannot_write(folder) if folder is not None else ""
    if refused:
        raise LaunchError("--dump %s: %s; nothing was run" % (folder, refused))
    return folder


def _dumped_program(folder: str) -> str:
    """The program whose dump a folder holds, "" where it holds none."""
    from depyf.torch.capture import rank_folder

    try:
        return str(summary.load(rank_folder(folder)).get("program") or "")
    except (summary.DumpError, RecursionError):
        return ""


def _same_program(one: str, other: str) -> bool:
    return paths.real(one) == paths.real(other)


def own_folder(name: str, program: str, force: bool, stream: TextIO) -> str:
    """`name`, or where that holds the dump of another program, `name` with a number after it."""
    if force:
        return name
    taken = ""
    for number in range(1, 1000):
        folder = name if number == 1 else "%s_%d" % (name, number)
        other = _dumped_program(folder)
        if not other or _same_program(other, program):
            break
        taken = taken or other
    if folder != name:
        stream.write(
            "depyf run: %s holds the dump of %s; this one goes to %s\n"
            % (name, shown(taken), folder)
        )
    return folder


def _cannot_write(folder: str) -> str:
    """Why a folder, which is made where it is missing, cannot be written; "" where it can."""
    from depyf.files import require_writable

    try:
        os.makedirs(folder, exist_ok=True)
        require_writable(folder)
        return ""
    except OSError as error:
        return error.strerror or str(error)

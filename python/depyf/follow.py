"""Worker processes of a program that `depyf run` runs: what they compile is dumped too.

Workers that multiprocessing starts are followed: one that is forked opens a block of its own when
it first compiles, one that is spawned when it has imported torch. Each writes to `worker_PID` in
the folder of the program's dump.
"""

import glob
import multiprocessing.util
import os
import shutil
import sys

from depyf import summary
from depyf.imports import WhenImported
from depyf.schema import MANIFEST

_PREFIX = "worker_"


class Follower:
    """Follows the workers of this process while the block is open.

    Args:
        folder: where their dumps go, as folders of their own.
        caches: False turns torch's compile caches off in them.
    """

    def __init__(self, folder, caches=True):
        self.folder = os.path.abspath(folder)
        self.caches = caches
        self._restore = None
        self._waiting = None
        self._open = False

    def __enter__(self):
        self._open = True
        for old in glob.glob(os.path.join(self.folder, _PREFIX + "*")):
            if os.path.exists(os.path.join(old, MANIFEST)):
                shutil.rmtree(old, ignore_errors=True)
        multiprocessing.util.register_after_fork(self, Follower._forked)
        if "multiprocessing.spawn" in sys.modules:
            self._hand_over()
        else:
            self._waiting = WhenImported("multiprocessing.spawn", self._hand_over)
        return self

    def __exit__(self, *_):
        self._open = False
        if self._waiting is not None:
            self._waiting.remove()
        if self._restore is not None:
            self._restore()

    def _forked(self):
        if not self._open:
            return
        from depyf.torch.capture import follow_in_child

        follow_in_child(lambda: _open_block(self.folder, self.caches))

    def _hand_over(self):
        # what is unpickled in a spawned worker before its main module runs
        import multiprocessing.spawn as spawn

        original = spawn.get_preparation_data

        def get_preparation_data(name):
            data = original(name)
            data["depyf"] = _Stowaway(self.folder, self.caches)
            return data

        spawn.get_preparation_data = get_preparation_data

        def restore():
            if spawn.get_preparation_data is get_preparation_data:
                spawn.get_preparation_data = original

        self._restore = restore


class _Stowaway:
    """Begins to look when it is unpickled, which is in a worker."""

    def __init__(self, folder, caches):
        self.folder, self.caches = folder, caches

    def __setstate__(self, state):
        self.__dict__.update(state)

        def begin():
            _open_block(self.folder, self.caches)

        try:
            if "torch" in sys.modules:
                begin()
            else:
                WhenImported("torch", begin)
        except Exception as error:  # the worker goes on
            sys.stderr.write("depyf run: a worker is not followed: %s\n" % error)


def _open_block(folder, caches):
    from depyf.torch.capture import prepare_debug

    own = os.path.join(folder, "%s%d" % (_PREFIX, os.getpid()))
    block = prepare_debug(own, caches=caches)
    run = block.__enter__()
    process = os.getpid()

    def close():
        if os.getpid() != process:
            return
        block.__exit__(None, None, None)
        if not run.functions and not run.unattributed:
            shutil.rmtree(own, ignore_errors=True)

    # a worker leaves by os._exit, where no function of atexit runs
    multiprocessing.util.Finalize(None, close, exitpriority=1)


def documents(folder):
    """The dumps of the workers; folders of those that compiled nothing are taken away."""
    found = []
    for own in glob.glob(os.path.join(glob.escape(folder), _PREFIX + "*")):
        try:
            document = summary.load(own)
        except summary.DumpError:
            document = {}
        if document.get("functions") or document.get("unattributed"):
            found.append(document)
        elif os.path.exists(os.path.join(own, MANIFEST)):
            shutil.rmtree(own, ignore_errors=True)
    return sorted(found, key=lambda one: int(one.get("process") or 0))


def merged(document, workers):
    """The document of a program together with those of its workers."""
    if not workers:
        return document
    whole = dict(document)
    for key in ("functions", "unattributed", "problems"):
        whole[key] = sum([one.get(key) or [] for one in [document] + workers], [])
    return whole

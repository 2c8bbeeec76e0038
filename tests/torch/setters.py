"""Who changes the state of the process: the calls that set some of it, each with the stack of its
caller.

A thread that looks now and then sees a change by chance, and not who made it. Torch itself pushes
filters of warnings and patches its settings while it compiles; depyf must not.
"""

import contextlib
import gc
import locale
import logging
import os
import random
import signal
import sys
import types
import warnings

import depyf
import torch

DEPYF = os.path.dirname(os.path.abspath(depyf.__file__)) + os.sep
TORCH = os.path.dirname(os.path.abspath(torch.__file__)) + os.sep

#: what is a function of a module or a class, by its owner
_CALLS = [
    (warnings, "simplefilter filterwarnings resetwarnings _filters_mutated"),
    (warnings.catch_warnings, "__enter__ __exit__"),
    (locale, "setlocale"),
    (logging, "disable basicConfig captureWarnings"),
    (gc, "enable disable set_threshold set_debug freeze unfreeze"),
    (sys, "settrace setprofile setrecursionlimit setswitchinterval set_int_max_str_digits"),
    (signal, "signal setitimer alarm set_wakeup_fd siginterrupt pthread_sigmask"),
    (os, "chdir fchdir umask nice setpriority"),
    (os._Environ, "__setitem__ __delitem__"),
    (random, "seed setstate"),
    (torch, "set_num_threads set_default_dtype manual_seed use_deterministic_algorithms"),
    (torch.random, "set_rng_state manual_seed seed"),
]

#: what is an attribute of a module; "" stands for any
_ATTRIBUTES = {
    "warnings": "filters showwarning formatwarning _showwarnmsg_impl defaultaction onceregistry",
    "sys": "stdin stdout stderr excepthook displayhook unraisablehook path argv meta_path "
    "path_hooks tracebacklimit dont_write_bytecode breakpointhook",
    "threading": "excepthook",
    "torch._dynamo.config": "",
    "torch._functorch.config": "",
    "torch._inductor.config": "",
}


class Change:
    """One call of a setter: its name, and the files and functions that it was called from, the
    innermost first.
    """

    def __init__(self, name, frame):
        self.name, self.stack = name, []
        while frame is not None:
            self.stack.append((frame.f_code.co_filename, frame.f_code.co_name))
            frame = frame.f_back

    def by_depyf(self):
        return any(file.startswith(DEPYF) for file, _ in self.stack)

    def way_through_torch(self):
        """The setter and the frames of torch, or None where depyf called the setter, or the
        standard library for it.
        """
        owned = [one for one in self.stack if one[0].startswith((DEPYF, TORCH))]
        if owned and owned[0][0].startswith(DEPYF):
            return None
        return (self.name,) + tuple(one for one in owned if one[0].startswith(TORCH))

    def __repr__(self):
        lines = ["    %s, %s" % one for one in self.stack[:40]]
        return "\n".join(["%s, called from" % self.name] + lines)


@contextlib.contextmanager
def recorded():
    """The list of all changes, made by whichever thread, while the block runs."""
    changes, undo = [], contextlib.ExitStack()

    def call(owner, name):
        real = vars(owner).get(name) or getattr(owner, name)
        label = "%s.%s" % (getattr(owner, "__name__", owner), name)

        def setter(*arguments, **keywords):
            changes.append(Change(label, sys._getframe(1)))
            return real(*arguments, **keywords)

        undo.callback(setattr, owner, name, real)
        setattr(owner, name, setter)

    def attributes(module, names):
        def assigned(self, name, value):
            if not names or name in names:
                changes.append(Change("%s.%s = " % (module.__name__, name), sys._getframe(1)))
            kind.__setattr__(self, name, value)

        kind = type(module)
        undo.callback(types.ModuleType.__setattr__, module, "__class__", kind)
        recording = type(kind.__name__, (kind,), {"__setattr__": assigned})
        # torch's modules of settings have a __setattr__ that takes settings alone
        types.ModuleType.__setattr__(module, "__class__", recording)

    def levels(self, name, value):
        if name in ("level", "disabled", "propagate") and name in vars(
            self
        ):  # else it is being made
            changes.append(Change("Logger.%s = " % name, sys._getframe(1)))
        object.__setattr__(self, name, value)

    with undo:
        for owner, names in _CALLS:
            for name in names.split():
                if hasattr(owner, name):
                    call(owner, name)
        for module, names in _ATTRIBUTES.items():
            if module in sys.modules:
                attributes(sys.modules[module], names.split())
        logging.Logger.__setattr__ = levels
        undo.callback(delattr, logging.Logger, "__setattr__")
        yield changes


def made_by_depyf(changes, without):
    """The changes with depyf on their stack, but for those that torch made in the same way without
    it.
    """
    torchs = {one.way_through_torch() for one in without}
    return [
        one
        for one in changes
        if one.by_depyf()
        and (one.way_through_torch() is None or one.way_through_torch() not in torchs)
    ]

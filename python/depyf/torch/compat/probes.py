"""What this torch offers: each private name is looked for once, and what is missing is recorded
with its reason.
"""

from typing import Any, Callable, Dict

from depyf.interrupts import pass_on

#: name of the probe -> why it is unavailable
_unavailable: Dict[str, str] = {}


#: name of the probe -> what was found, None where it is unavailable; what is asked for at each
#: record of torch's is read here
_found: Dict[str, Any] = {}


_HOW_TO_INSTALL = "Install it with `pip install torch` (faster with --no-compile); "


class MissingTorch(ImportError):
    """torch is not installed, or not a version that can be looked into."""


def require_torch() -> Any:
    """Returns the torch module.

    Raises:
        MissingTorch: torch cannot be imported; the message says how to get it.
    """
    try:
        import torch
    except Exception as error:  # a broken installation raises more than ImportError
        pass_on()
        absent = isinstance(error, ModuleNotFoundError) and error.name == "torch"
        raise MissingTorch(
            "depyf captures torch.compile and needs torch, which cannot be imported here (%s: "
            "%s). %sdepyf.decompile works without it."
            % (type(error).__name__, error, _HOW_TO_INSTALL if absent else "")
        ) from error
    return torch


def probe(name: str, find: Callable[[], Any]) -> Any:
    """Returns what `find` returns, or None, remembering why, when it raises."""
    if name not in _found:
        try:
            _found[name] = find()
            _unavailable.pop(name, None)
        except Exception as error:
            pass_on()
            _found[name] = None
            _unavailable[name] = "%s: %s" % (type(error).__name__, error)
    return _found[name]


def unavailable() -> Dict[str, str]:
    """What this torch does not offer: name of the probe -> reason."""
    return dict(_unavailable)


def note_unavailable(name: str, reason: str) -> None:
    """Records something that turned out not to work after it had been found."""
    _unavailable.setdefault(name, reason)


DYNAMO_HOOKS = "torch._dynamo.convert_frame"

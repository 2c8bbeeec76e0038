"""What the program's user is warned of."""

import logging
import warnings

from depyf.interrupts import pass_on

log = logging.getLogger("depyf")


class DepyfWarning(UserWarning):
    """depyf could not do a part of its work; the program that it looks at goes on as without it."""


def warn(message: str) -> None:
    """Warns once per text; never raises, even where warnings are errors."""
    try:
        warnings.warn(message, DepyfWarning, stacklevel=3)
    except Exception:
        pass_on()
        log.warning("%s", message)

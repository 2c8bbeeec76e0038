"""Exceptions that a signal handler of the program raised while depyf worked.

Python runs a handler between two instructions of whatever runs, so also in the middle of depyf. A
handler that raises, such as that of an alarm, wants to end what the program does. What depyf
catches to go on without a part of its work must not be such an exception.
"""

import _signal
import _thread
import functools
import sys
import threading
import types
from typing import Any, List, Optional


#: the members of a class; a program may replace `vars`
_members_of = type.__dict__["__dict__"].__get__


def pass_on() -> None:
    """Raises the exception that is being handled again if a signal handler raised it.

    To be called in an `except` of depyf's own. An exception that the program handles meanwhile is
    another one: what depyf catches has passed a frame of depyf's.
    """
    error = sys.exc_info()[1]
    try:
        is_from_handler = isinstance(error, Exception) and _is_from_handler(error)
    except Exception:  # a builtin that the program replaced, for one
        return
    if is_from_handler and error is not None:
        raise error


def _is_from_handler(error: BaseException) -> bool:
    trace = error.__traceback__
    if trace is None or not _is_own(trace.tb_frame):
        return False
    if _thread.get_ident() != threading.main_thread().ident:  # handlers run in the main one alone
        return False
    handlers = _codes_of_handlers()
    while trace is not None:
        if any(trace.tb_frame.f_code is code for code in handlers):
            return True
        trace = trace.tb_next
    return False


def _is_own(frame: types.FrameType) -> bool:
    name = dict.get(frame.f_globals, "__name__")
    return type(name) is str and name.partition(".")[0] == "depyf"


def _codes_of_handlers() -> List[types.CodeType]:
    """The code of each Python function that is a signal handler now."""
    codes = []
    for number in range(1, _signal.NSIG):
        try:
            handler = _signal.getsignal(number)
        except ValueError:
            continue
        code = _code_of(handler)
        if code is not None:
            codes.append(code)
    return codes


def _code_of(handler: Any) -> Optional[types.CodeType]:
    # no attribute is read that a class of the program may compute
    for _ in range(10):
        if type(handler) is functools.partial:
            handler = handler.func
        elif type(handler) is types.MethodType:
            handler = handler.__func__
        elif type(handler) is types.FunctionType:
            return handler.__code__
        else:
            members = [_members_of(one) for one in type(handler).__mro__]
            calls = [found["__call__"] for found in members if "__call__" in found]
            handler = calls[0] if calls else None
    return None

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

from depyf.plain import cause_of, context_of, is_one_of, traceback_of

#: the members of a class; a program may replace `vars`
_members_of = type.__dict__["__dict__"].__get__
_classes_of = type.__dict__["__mro__"].__get__
_CALL_OF_PARTIAL: Any = functools.partial.__dict__["__call__"]
_function_of_partial: Any = functools.partial.__dict__["func"].__get__
_Cached = type(functools.lru_cache(maxsize=None)(_thread.get_ident))
#: what runs C code alone
_WITHOUT_CODE = (
    type(None),
    type(object.__call__),
    type(object.__init__),
    type(str.join),
    types.BuiltinFunctionType,
)
#: parts of one handler, such as partials of partials, that are looked at
_MOST_PARTS = 20


#: exceptions that may be chained before one that a handler raised
_LONGEST_CHAIN = 20


def pass_on() -> None:
    """Raises the exception that is being handled again if a signal handler raised it.

    To be called in an `except` of depyf's own. It may be another exception because of that one: a
    generator makes a RuntimeError of StopIteration. An exception that the program handles
    meanwhile is another one: what depyf catches has passed a frame of depyf's, or of a function
    that depyf called.
    """
    error = sys.exc_info()[1]
    try:
        found = None
        if error is not None and issubclass(type(error), Exception):
            found = _of_handler(error)
        context = context_of(found) if found is not None else None
    except Exception:  # a builtin that the program replaced, for one
        return
    if found is None:
        return
    try:
        raise found
    finally:
        found.__context__ = context  # what depyf caught is not a part of it


def _of_handler(error: BaseException) -> Optional[BaseException]:
    """The exception among this one and those that led to it that a signal handler raised."""
    trace = traceback_of(error)
    if trace is None or not _is_own(trace.tb_frame):
        return None
    if _thread.get_ident() != threading.main_thread().ident:  # handlers run in the main one alone
        return None
    handlers = _codes_of_handlers()
    one: Optional[BaseException] = error
    for _ in range(_LONGEST_CHAIN if handlers else 0):
        if one is None or _is_of_program(one):
            return None
        if _passed(one, handlers):
            return one
        one = cause_of(one) or context_of(one)
    return None


def _is_of_program(error: BaseException) -> bool:
    """Whether it was caught outside of depyf's work: by a frame that still runs, not depyf's."""
    trace = traceback_of(error)
    caught = trace.tb_frame if trace is not None else None
    frame: Optional[types.FrameType] = sys._getframe(1)
    while frame is not None:
        if frame is caught:
            return not _is_own(frame)
        frame = frame.f_back
    return False


def _passed(error: BaseException, handlers: List[types.CodeType]) -> bool:
    trace = traceback_of(error)
    while trace is not None:
        if any(trace.tb_frame.f_code is code for code in handlers):
            return True
        trace = trace.tb_next
    return False


def _is_own(frame: types.FrameType) -> bool:
    name = dict.get(frame.f_globals, "__name__")
    return type(name) is str and name.partition(".")[0] == "depyf"


def _codes_of_handlers() -> List[types.CodeType]:
    """The code of each Python function that a signal calls now."""
    codes: List[types.CodeType] = []
    for number in range(1, _signal.NSIG):
        try:
            handler = _signal.getsignal(number)
        except ValueError:
            continue
        codes += _codes_of(handler)
    return codes


def _codes_of(handler: Any) -> List[types.CodeType]:
    # no attribute is read that a class of the program may compute
    codes = []
    pending = [handler]
    for one in pending:
        kind = type(one)
        if kind is types.FunctionType:
            codes.append(one.__code__)
        elif is_one_of(kind, (types.MethodType, staticmethod, classmethod)):
            pending.append(one.__func__)
        elif kind is _Cached:
            pending.append(getattr(one, "__wrapped__", None))
        elif not is_one_of(kind, _WITHOUT_CODE) and len(pending) < _MOST_PARTS:
            call = _member(kind, "__call__")
            pending.append(_function_of_partial(one) if call is _CALL_OF_PARTIAL else call)
            if type in _classes_of(kind):  # a class, whose call makes an object
                pending += _member(one, "__new__"), _member(one, "__init__")
    return codes


def _member(owner: Any, name: str) -> Any:
    for one in _classes_of(owner):
        members = _members_of(one)
        if name in members:
            return members[name]
    return None

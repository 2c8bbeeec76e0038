"""Rows of logs and warnings."""

from depyf.advice import helps, row

_LOG = """
import logging
log = logging.getLogger("a program")

@torch.compile(backend="eager")
def f(x):
    log.info("a step")
    return x + 1

result = f(torch.ones(3))
"""
_LOG_ASKED = """
import logging
log = logging.getLogger("a program")

@torch.compile(backend="eager")
def f(x):
    y = x + 1
    if log.isEnabledFor(logging.DEBUG):
        y = y * 2
    return y

result = f(torch.ones(3))
"""
_WARN = """
import warnings

@torch.compile(backend="eager")
def f(x):
    y = x + 1
    warnings.warn("a step")
    return y * 2

result = f(torch.ones(3))
"""
_LOG_FUNCTION = """
import logging

@torch.compile(backend="eager")
def f(x):
    y = x + 1
    logging.warning("a step")
    return y * 2

result = f(torch.ones(3))
"""
ROWS = (
    row(
        "log that is asked",
        "`{called}` tests in the middle of the graph whether a logger is enabled.",
        [
            helps(
                "Test before the compiled function is called, and pass the result: it is a "
                "constant of the graph.",
                _LOG_ASKED,
                _LOG_ASKED.replace("def f(x)", "def f(x, asked)")
                .replace("if log.isEnabledFor(logging.DEBUG)", "if asked")
                .replace("f(torch.ones(3))", "f(torch.ones(3), log.isEnabledFor(logging.DEBUG))"),
            ),
            helps(
                "torch._dynamo.config.{setting}.add(logging.Logger.{method}) leaves `{method}` "
                "of all loggers out of compiled code: it returns None there, as if the logger "
                "were disabled.",
                _LOG_ASKED,
                "import logging\n"
                "torch._dynamo.config.ignore_logging_functions.add(logging.Logger.isEnabledFor)\n"
                + _LOG_ASKED,
                "torch._dynamo.config.{setting}.add(logging.Logger.{method})",
            ),
        ],
        ids=("GB0291",),
        reason=r"logging\.Logger|logger",
        where=r"\n> .*\.(isEnabledFor|getEffectiveLevel)\(",
        names=r"torch\._dynamo\.config\.(?P<setting>ignore_\w+)",
    ),
    row(
        "log",
        "`{called}` logs a message in the middle of the graph.",
        [
            helps(
                "Log outside of the compiled function, or after it. If a later line changes the "
                "tensor in place, return a clone that is made before that line.",
                _LOG,
                """
import logging
log = logging.getLogger("a program")

@torch.compile(backend="eager")
def f(x):
    return x + 1

result = f(torch.ones(3))
log.info("a step")
""",
            ),
            helps(
                "torch._dynamo.config.{setting}.add(logging.Logger.{method}) leaves "
                "`{method}` of all loggers out of compiled code: its messages are lost there.",
                _LOG,
                "import logging\n"
                "torch._dynamo.config.ignore_logging_functions.add(logging.Logger.info)\n" + _LOG,
                "torch._dynamo.config.{setting}.add(logging.Logger.{method})",
            ),
        ],
        ids=("GB0291",),
        reason=r"logging\.Logger|logger",
        names=r"torch\._dynamo\.config\.(?P<setting>ignore_\w+)",
    ),
    row(
        "log function",
        "`{called}` logs a message in the middle of the graph.",
        [
            helps(
                "Log outside of the compiled function, or after it. If a later line changes the "
                "tensor in place, return a clone that is made before that line.",
                _LOG_FUNCTION,
                """
import logging

@torch.compile(backend="eager")
def f(x):
    y = x + 1
    return y * 2

result = f(torch.ones(3))
logging.warning("a step")
""",
            ),
            helps(
                "torch._dynamo.config.reorderable_logging_functions.add({called}) lets torch log "
                "at the end of the graph, tensors as they are then. It cannot log a number that "
                "changes from call to call.",
                _LOG_FUNCTION,
                "import logging\n"
                "torch._dynamo.config.reorderable_logging_functions.add(logging.warning)\n"
                + _LOG_FUNCTION,
                "torch._dynamo.config.reorderable_logging_functions.add({called})",
            ),
        ],
        reason=r".",
        where=r"[/\\]lib[/\\]python[\d.]+[/\\]logging[/\\]__init__\.py",
    ),
    row(
        "warning",
        "`{called}` warns in the middle of the graph.",
        [
            helps(
                "Warn outside of the compiled function, or after it.",
                _WARN,
                """
import warnings

@torch.compile(backend="eager")
def f(x):
    y = x + 1
    return y * 2

result = f(torch.ones(3))
warnings.warn("a step")
""",
            ),
            helps(
                "torch._dynamo.config.reorderable_logging_functions.add(warnings.warn) lets "
                "torch warn at the end of the graph. The message cannot contain a number that "
                "changes from call to call.",
                _WARN,
                "import warnings\n"
                "torch._dynamo.config.reorderable_logging_functions.add(warnings.warn)\n" + _WARN,
                "torch._dynamo.config.reorderable_logging_functions.add(warnings.warn)",
            ),
        ],
        ids=("GB0007", "GB0008"),
        reason=r"marked as skipped",
        where=r"`_?warnings\.warn`|function `warn` in file `[^`]*warnings\.py`",
    ),
)

"""The page's template: its environment, the script and the style that it holds, its policy."""

import base64
import contextlib
import functools
import hashlib
import io
import os
import stat
from typing import Any

from depyf.files import temporary_folder
from depyf.report import runtime
from depyf.report.base import MARK, ReportError
from depyf.report.page.front import asked_caches, seconds_in_words, short_place, without_folders
from depyf.report.page.sources import source_line
from depyf.report.texts import visible
from depyf.report.words import outcome

_REPORT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_ASSETS = os.path.join(_REPORT, "assets")
#: runs before anything is drawn, so that what is for readers without scripts, and rows beyond the
#: first ones, are never laid out
FIRST = 'document.documentElement.classList.add("js")'


def _asset(name: str) -> str:
    with io.open(os.path.join(_ASSETS, name), encoding="utf-8") as stream:
        return stream.read()


def _hash(text: str) -> str:
    return "'sha256-%s'" % base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode(
        "ascii"
    )


def _finalized(value: Any) -> Any:
    # most values are markup, or texts of no class of their own
    if type(value) is str:
        return value if value.isprintable() else visible(value)
    if isinstance(value, str) and not hasattr(value, "__html__"):
        return visible(value)
    return value


def _cache_folder() -> str:
    """The folder that Jinja2 has for compiled templates; "" where it cannot be had, or is not the
    user's alone.

    Jinja2 itself would ask `tempfile.gettempdir()`: see `temporary_folder`.
    """
    if not hasattr(os, "getuid"):
        return ""
    folder = os.path.join(temporary_folder(), "_jinja2-cache-%d" % os.getuid())
    try:
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder, stat.S_IRWXU)
        found = os.lstat(folder)
    except OSError:
        return ""
    own = found.st_uid == os.getuid() and stat.S_ISDIR(found.st_mode)
    return folder if own and stat.S_IMODE(found.st_mode) == stat.S_IRWXU else ""


@functools.lru_cache(maxsize=None)
def page_template() -> Any:
    """The template with all that is the same in each page."""
    try:
        import jinja2
    except ImportError as error:
        raise ImportError(
            "the report needs Jinja2; install it with `pip install jinja2`"
        ) from error
    # compiling the template takes longer than filling it in: Jinja2 keeps what it compiled
    folder = _cache_folder()
    cache = jinja2.FileSystemBytecodeCache(folder) if folder else None
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_ASSETS),
        bytecode_cache=cache,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalized,
    )
    environment.filters.update(seconds=seconds_in_words, place=short_place, base=os.path.basename)
    environment.filters.update(short=without_folders)
    environment.filters.update(cache=asked_caches)
    environment.filters.update(each=runtime.short_time, bytes=runtime.short_bytes)
    environment.globals.update(source_line=source_line)
    try:
        script, style = _asset("page.js"), _asset("page.css")
    except FileNotFoundError:
        raise ReportError("this depyf was installed without its page: build it with pip")
    from markupsafe import Markup

    policy = (
        "default-src 'none'; script-src %s; style-src %s; img-src data:; "
        "base-uri 'none'; form-action 'none'" % (_hash(FIRST) + " " + _hash(script), _hash(style))
    )
    environment.globals.update(
        script=Markup(script),
        style=Markup(style),
        first_script=Markup(FIRST),
        policy=policy,
        icon=_icon(),
        outcome=outcome,
        mark=Markup(MARK),
    )
    try:
        return environment.get_template("page.html")
    except OSError:  # the cache cannot be written
        environment.bytecode_cache = None
        return environment.get_template("page.html")


def load() -> None:
    """Loads Jinja2 and the template, so that the first page takes no longer than the others."""
    page_template()


def _icon() -> str:
    picture = (
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'>"
        "<rect width='16' height='16' rx='4' fill='#0f766e'/><path d='M4 5h8M4 8h5M4 11h7' "
        "stroke='#fff' stroke-width='1.6' stroke-linecap='round'/></svg>"
    )
    return "data:image/svg+xml;base64," + base64.b64encode(picture.encode("ascii")).decode("ascii")

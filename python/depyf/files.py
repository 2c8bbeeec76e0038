"""Writing a file so that a reader never sees half of it, and reading files that others wrote."""

import errno
import json
import os
import stat
from typing import Any

_HOW = os.O_WRONLY | os.O_CREAT | os.O_EXCL
for _name in ("O_NOFOLLOW", "O_CLOEXEC", "O_BINARY", "O_NOINHERIT"):
    _HOW |= getattr(os, _name, 0)

_HOW_TO_APPEND = _HOW & ~os.O_EXCL | os.O_APPEND

_HOW_TO_READ = os.O_RDONLY
for _name in ("O_NOFOLLOW", "O_CLOEXEC", "O_BINARY", "O_NOINHERIT", "O_NONBLOCK"):
    _HOW_TO_READ |= getattr(os, _name, 0)
#: bytes of the largest manifest, and of the largest other file, that is read
MANIFEST_LIMIT, FILE_LIMIT = 1 << 30, 1 << 26


def read_text(path: Any, limit: int = FILE_LIMIT) -> str:
    """The text of a file of a dump, which may be anybody's: no link, device or pipe is read.

    Raises OSError where it cannot be read, is none of that, or is larger than `limit` bytes.
    """
    descriptor = os.open(path, _HOW_TO_READ)
    with os.fdopen(descriptor, "rb") as stream:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "it is no ordinary file", path)
        data = stream.read(limit + 1)
    if len(data) > limit:
        raise OSError(errno.EFBIG, "it has more than %d bytes" % limit, path)
    return data.decode("utf-8", "replace")


def parse_json(text: str) -> Any:
    """What a JSON text says. Raises ValueError for any text that is none, or nested too deeply."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply")


def write_atomically(path: Any, text: str, errors: str = "strict") -> None:
    """Writes a text as UTF-8 beside `path`, then renames it; what stood there is replaced.

    That holds for a link too. The file gets the rights that the process gives to each file it
    makes; its mask is not asked for, since that means setting it. The name beside it cannot be
    guessed, and no link is followed.

    Raises OSError where it cannot be written, and UnicodeError where `errors` asks for that. No
    half of a file stays.
    """
    temporary = os.path.join(os.path.dirname(path), ".depyf-%s.tmp" % os.urandom(8).hex())
    descriptor = os.open(temporary, _HOW, 0o666)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", errors=errors, newline="\n") as stream:
            stream.write(text)
        os.replace(temporary, path)
    except BaseException:  # an interrupt is the user's, and leaves no half of a file
        try:
            os.unlink(temporary)
        except OSError:
            pass
        raise


def append_text(path: Any, text: str) -> None:
    """Writes a text at the end of a file, which is made where there is none; no link is followed.

    Raises OSError where it cannot be written; a part of the text may then stand there.
    """
    descriptor = os.open(path, _HOW_TO_APPEND, 0o666)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(text.encode("utf-8", "backslashreplace"))

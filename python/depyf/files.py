"""Writing a file so that a reader never sees half of it, and reading files that others wrote."""

import errno
import io
import json
import os
import stat
from typing import Any, BinaryIO, Iterator

from depyf import _core, paths
from depyf.interrupts import pass_on

_HOW = os.O_WRONLY | os.O_CREAT | os.O_EXCL
for _name in ("O_NOFOLLOW", "O_CLOEXEC", "O_BINARY", "O_NOINHERIT"):
    _HOW |= getattr(os, _name, 0)

_HOW_TO_APPEND = _HOW & ~os.O_EXCL | os.O_APPEND

_HOW_TO_READ = os.O_RDONLY
for _name in ("O_NOFOLLOW", "O_CLOEXEC", "O_BINARY", "O_NOINHERIT", "O_NONBLOCK"):
    _HOW_TO_READ |= getattr(os, _name, 0)
#: bytes of the largest manifest, and of the largest other file, that is read
MANIFEST_LIMIT, FILE_LIMIT = 1 << 30, 1 << 26


def _open_ordinary(path: Any) -> BinaryIO:
    stream = io.open(path, "rb", opener=_core.opener(_HOW_TO_READ))
    if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
        stream.close()
        raise OSError(errno.EINVAL, "it is not a regular file", path)
    return stream


def read_lines(path: Any, longest: int = FILE_LIMIT, limit: int = MANIFEST_LIMIT) -> Iterator[str]:
    """The lines of a file of a dump, one at a time, each without its end; see `read_text`.

    Raises OSError where it cannot be read, at a line of more than `longest` bytes, and after
    `limit` bytes.
    """
    with _open_ordinary(path) as stream:
        while True:
            line = stream.readline(longest + 1)
            limit -= len(line)
            if not line:
                return
            if len(line) > longest or limit < 0:
                raise OSError(errno.EFBIG, "it is too large to read", path)
            yield line.rstrip(b"\r\n").decode("utf-8", "replace")


def read_text(path: Any, limit: int = FILE_LIMIT) -> str:
    """The text of a file of a dump, which may be anybody's: no link, device or pipe is read.

    Raises OSError where it cannot be read, is none of that, or is larger than `limit` bytes.
    """
    with _open_ordinary(path) as stream:
        data = stream.read(limit + 1)
    if len(data) > limit:
        raise OSError(errno.EFBIG, "it is larger than %d bytes" % limit, path)
    return data.decode("utf-8", "replace")


def parse_json(text: str) -> Any:
    """What a JSON text says. Raises ValueError for any text that is none, or nested too deeply."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply")


def _beside(path: Any) -> str:
    """A name in the folder of `path` that cannot be guessed."""
    return os.path.join(os.path.dirname(path), ".depyf-%s.tmp" % os.urandom(8).hex())


def require_writable(folder: str) -> None:
    """Raises OSError where no file can be made in the folder."""
    path = _beside(os.path.join(folder, ""))
    os.close(os.open(path, _HOW, 0o666))
    os.unlink(path)


def temporary_folder() -> str:
    """The folder for temporary files, as the environment names it, else the system's.

    `tempfile.gettempdir()` keeps its first answer for the whole process, so a program that sets
    TMPDIR after depyf had asked would not get its folder.
    """
    for name in ("TMPDIR", "TEMP", "TMP"):
        if os.path.isdir(os.environ.get(name) or ""):
            return paths.absolute(os.environ[name])
    return "/tmp" if os.name == "posix" else os.getcwd()


def write_atomically(path: Any, text: str, errors: str = "strict") -> None:
    """Writes a text as UTF-8 beside `path`, then renames it; what stood there is replaced.

    That holds for a link too. The file gets the rights that the process gives to each file it
    makes; its mask is not asked for, since that means setting it. The name beside it cannot be
    guessed, and no link is followed.

    Raises OSError, which names `path`, where it cannot be written, and UnicodeError where `errors`
    asks for that. No half of a file stays.
    """
    data = text.encode("utf-8", errors)
    temporary = _beside(path)
    opener = _core.opener(_HOW)
    try:
        with io.open(temporary, "wb", buffering=0, opener=opener) as stream:
            _core.write_all(stream.fileno(), data)
        os.replace(temporary, path)
    except BaseException as error:  # an interrupt is the user's, and leaves no half of a file
        try:
            os.unlink(temporary)
        except OSError:
            pass_on()
        if isinstance(error, OSError) and error.filename == temporary:
            raise OSError(error.errno, error.strerror, path) from None
        raise


def overwrite_text(path: Any, text: str) -> None:
    """Writes a text over the beginning of a file that is at least as long, and spaces over its
    rest: that needs no space on the disk. No link is followed.

    Raises OSError where it cannot be written, or the file is shorter.
    """
    data = text.encode("utf-8", "backslashreplace")
    opener = _core.opener(_HOW & ~(os.O_EXCL | os.O_CREAT))
    with io.open(path, "wb", buffering=0, opener=opener) as stream:
        size = os.fstat(stream.fileno()).st_size
        if size < len(data):
            raise OSError(errno.ENOSPC, "it is smaller than the text", path)
        _core.write_all(stream.fileno(), data.ljust(size))


def append_text(path: Any, text: str) -> None:
    """Writes a text at the end of a file, which is made where there is none; no link is followed.

    Raises OSError where it cannot be written; a part of the text may then stand there.
    """
    data = text.encode("utf-8", "backslashreplace")
    with io.open(path, "wb", buffering=0, opener=_core.opener(_HOW_TO_APPEND)) as stream:
        _core.write_all(stream.fileno(), data)

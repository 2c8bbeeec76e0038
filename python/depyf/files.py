"""Writing a file so that a reader never sees half of it."""

import os

_HOW = os.O_WRONLY | os.O_CREAT | os.O_EXCL
for _name in ("O_NOFOLLOW", "O_CLOEXEC", "O_BINARY", "O_NOINHERIT"):
    _HOW |= getattr(os, _name, 0)


def write_atomically(path, text, errors="strict"):
    """Writes a text as UTF-8 beside `path`, then renames it; what stood there, a link too, is replaced.

    The file gets the rights that the process gives to each file it makes; its mask is not asked for, since that means
    setting it. The name beside it cannot be guessed, and no link is followed.

    Raises OSError where it cannot be written, and UnicodeError where `errors` asks for that. No half of a file stays.
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

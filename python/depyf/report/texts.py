"""What the page needs of texts: to show hostile ones harmlessly, and to hold each of them once."""

import base64
import re
import zlib
from typing import Any, Callable, Dict, List, Match, Optional, Sequence, Tuple

# Controls that HTML drops or changes, lone surrogates that UTF-8 has no form for, and marks that
# turn the direction of writing, with which code can look like other code ("Trojan Source",
# CVE-2021-42574).
_ODD = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u2069\ufeff\ufffe\uffff\ud800-\udfff]"
)


def _name(match: Match[str]) -> str:
    character = ord(match.group())
    if character < 0x20:
        return chr(0x2400 + character)  # its picture, such as ␀
    return "\\x%02x" % character if character < 0x100 else "\\u%04x" % character


def visible(text: Any) -> str:
    """The text with each character that a page cannot show replaced by its name."""
    if not isinstance(text, str):
        text = str(text)
    if text.isprintable():  # nearly all; then none is odd
        return text
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    return _ODD.sub(_name, text) if _ODD.search(text) else text


#: characters of texts after which a block of the page is closed
_BLOCK = 256 * 1024


def packed(texts: Sequence[str]) -> List[Tuple[int, str]]:
    """Texts in blocks, deflated.

    The page inflates the block of a text when it needs the text, so a block is small beside a page.

    Args:
        texts: strings of which none has a NUL: one parts them in a block. `visible` leaves none.
    Returns:
        For each block the number of its first text, and its bytes in base64.
    """
    blocks: List[Tuple[int, str]] = []
    held: List[str] = []
    size = first = 0
    for number, text in enumerate(texts):
        held.append(text)
        size += len(text)
        if size >= _BLOCK or number == len(texts) - 1:
            deflated = zlib.compress("\0".join(held).encode("utf-8"))
            blocks.append((first, base64.b64encode(deflated).decode("ascii")))
            held, size, first = [], 0, number + 1
    return blocks


class Pool:
    """The texts of a page, each of them once, by number."""

    def __init__(self) -> None:
        self._numbers: Dict[str, int] = {}
        self._values: Dict[Any, int] = {}
        self.texts: List[str] = []
        #: what belongs to texts, such as the structure of a graph
        self.values: List[Any] = []

    def add(self, text: Optional[str]) -> Optional[int]:
        """The number of a text; None for an empty one."""
        if not text:
            return None
        number = self._numbers.get(text)
        if number is None:
            number = self._numbers[text] = len(self.texts)
            self.texts.append(visible(text))
        return number

    def add_data(self, key: Any, make: Callable[[], Any]) -> int:
        """The number of a value of the page; `make` is called for the first one of a key."""
        number = self._values.get(key)
        if number is None:
            number = self._values[key] = len(self.values)
            self.values.append(make())
        return number

    def size(self) -> int:
        """Characters of all texts together."""
        return sum(map(len, self.texts))

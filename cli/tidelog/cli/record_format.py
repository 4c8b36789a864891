r"""Records in the form that `consume --format` names, with kcat's letters. Pure.

    %t topic   %p partition   %o offset   %T timestamp in milliseconds   %h headers, a=1,b=2
    %k key     %K its length in bytes     %v or %s value                 %S its length in bytes
    %% a percent sign         \n \r \t \\ \0 \x1f: these characters

A null has the length -1.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tidelog.client.records import Record

NULL = b"NULL"
_ESCAPES = {"n": b"\n", "r": b"\r", "t": b"\t", "\\": b"\\", "0": b"\0"}
_TOKEN = re.compile(r"%(.)|\\x([0-9a-fA-F]{2})|\\(.)|([^%\\]+)|(.)", re.DOTALL)

Part = Callable[["Record"], bytes]


class InvalidFormatError(ValueError):
    """A format has a letter or an escape that does not exist."""


def compiled_format(text: str, *, null: bytes = b"") -> Part:
    """A function from a record to its bytes; `null` stands for keys and values that are null.

    Errors: InvalidFormatError.
    """
    letters = _letters(null)
    parts = [_part(found, letters) for found in _TOKEN.finditer(text)]
    return lambda record: b"".join(part(record) for part in parts)


def unescape(text: str) -> bytes:
    r"""Text with the escapes of a format, such as `\t` and `\0`, as bytes. InvalidFormatError."""
    return b"".join(_literal(found) for found in _TOKEN.finditer(text))


def _letters(null: bytes) -> Mapping[str, Part]:
    def shown(content: bytes | None) -> bytes:
        return null if content is None else content

    return {
        "t": lambda r: r.topic.encode(),
        "p": lambda r: b"%d" % r.partition,
        "o": lambda r: b"%d" % r.offset,
        "T": lambda r: b"%d" % r.timestamp_ms,
        "h": lambda r: b",".join(b"%s=%s" % (n.encode(), shown(v)) for n, v in r.headers),
        "k": lambda r: shown(r.key),
        "K": lambda r: _length(r.key),
        "v": lambda r: shown(r.value),
        "s": lambda r: shown(r.value),
        "S": lambda r: _length(r.value),
        "%": lambda _: b"%",
    }


def _length(content: bytes | None) -> bytes:
    return b"%d" % (-1 if content is None else len(content))


def _part(found: re.Match[str], letters: Mapping[str, Part]) -> Part:
    if found[1] is not None:
        if found[1] not in letters:
            raise InvalidFormatError(
                f"%{found[1]} is no part of a record: {' '.join('%' + one for one in letters)}"
            )
        return letters[found[1]]
    literal = _literal(found)
    return lambda _: literal


def _literal(found: re.Match[str]) -> bytes:
    if found[2] is not None:
        return bytes.fromhex(found[2])
    if found[3] is not None:
        if found[3] not in _ESCAPES:
            raise InvalidFormatError(rf"\{found[3]} is no escape: \n, \r, \t, \0, \\ or \x1f")
        return _ESCAPES[found[3]]
    return found[0].encode()

"""Lines of generated code, with their indentation, and the struct formats that they use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class Lines:
    """Lines, each with the indentation of the blocks that are open."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._depth = 0

    def add(self, line: str) -> None:
        """Append a line."""
        self._lines.append("    " * self._depth + line if line else "")

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Append `head`; what is added within is indented."""
        self.add(head)
        self._depth += 1
        yield
        self._depth -= 1

    def text(self) -> str:
        """The lines, joined."""
        return "\n".join(self._lines) + "\n"


class Formats:
    """Formats that a module packs and unpacks, each compiled once."""

    def __init__(self) -> None:
        self._reading: dict[str, str] = {}
        self._writing: dict[str, str] = {}

    def reading(self, codes: str) -> str:
        """Name of the function that unpacks a format."""
        return self._reading.setdefault(codes, "_unpack_" + codes.replace("?", "t"))

    def writing(self, codes: str) -> str:
        """Name of the function that packs a format."""
        return self._writing.setdefault(codes, "_pack_" + codes.replace("?", "t"))

    def text(self) -> str:
        """Their definitions."""
        made = [(name, codes, "unpack_from") for codes, name in sorted(self._reading.items())]
        made += [(name, codes, "pack") for codes, name in sorted(self._writing.items())]
        return "".join(f'{name} = Struct(">{codes}").{what}\n' for name, codes, what in made)

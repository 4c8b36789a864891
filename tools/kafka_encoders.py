"""Writes the functions that write a message: straight-line code, one function a layout of a struct.

A function appends the bytes of structs of its layout to `out`. In messages with records, what is
in `out` moves to `buffers` before larger records do. Adjacent fields of fixed size and the length
behind them are one `pack`.
"""

from __future__ import annotations

from contextlib import nullcontext

from kafka_classes import WRITTEN_ALONE, default_of, is_optional
from kafka_layouts import CODES, Layout, Shapes, Slot, attribute, local, snake
from kafka_lines import Formats, Lines
from kafka_notation import Field


class Encoders:
    """Functions of one message, in the order in which they were asked for."""

    def __init__(self, shapes: Shapes, formats: Formats) -> None:
        self._shapes = shapes
        self._formats = formats
        self._names: dict[Layout, str] = {}
        self.functions: list[str] = []

    def name_of(self, layout: Layout, version: int) -> str:
        """The function that writes structs of a layout, which `version` is the first to have."""
        if layout not in self._names:
            self._names[layout] = f"_write_{snake(layout.struct)}_{version}"
            self.functions.append(_Function(self, layout, version).text())
        return self._names[layout]

    def fields(self, struct: str) -> dict[str, Field]:
        """Fields of a struct, of all versions, by name."""
        return {field.name: field for field in self._shapes.structs[struct]}

    def pack(self, codes: str) -> str:
        """Name of the `pack` of a format."""
        return self._formats.writing(codes)


class _Function:
    def __init__(self, encoders: Encoders, layout: Layout, version: int) -> None:
        self._encoders, self._layout, self._version = encoders, layout, version
        self._fields = encoders.fields(layout.struct)
        self._lines = Lines()
        self._out = "out"
        self._group: list[tuple[str, str]] = []
        """Format code and expression of fixed fields that were not written yet."""

    def text(self) -> str:
        layout, lines = self._layout, self._lines
        buffers = ", buffers: list[Buffer]" if layout.has_records else ""
        with (
            lines.block(
                f"def _write_{snake(layout.struct)}_{self._version}"
                f"(items: Iterable[{layout.struct}], out: list[Buffer]{buffers}) -> None:"
            ),
            lines.block("for m in items:"),
        ):
            if layout.struct in WRITTEN_ALONE:
                with lines.block("if m.encoded:"):
                    lines.add("out.append(m.encoded)")
                    lines.add("continue")
            for slot in layout.plain:
                self._write(slot)
            self._write_tags()
            self._flush()
            if not layout.slots and not layout.is_flexible:
                lines.add("pass")
        return lines.text()

    def _value(self, slot: Slot) -> str:
        return f"m.{attribute(self._fields[slot.name])}"

    def _fixed(self, code: str, value: str) -> None:
        self._group.append((code, value))

    def _flush(self, *, compact: str = "") -> None:
        """Write the fixed fields that wait, and a compact length `n` by the function `compact`."""
        group, self._group = self._group, []
        lines, out = self._lines, self._out
        if compact:
            with lines.block("if n > 127:"):
                before = f"{self._packed(group)} + " if group else ""
                lines.add(f"{out}.append({before}{compact}(n))")
            with lines.block("else:"):
                short = self._packed([*group, ("B", "n")]) if group else "ONE_BYTE[n]"
                lines.add(f"{out}.append({short})")
        elif [code for code, _ in group] == ["x"]:
            lines.add(f"{out}.append(ONE_BYTE[0])")
        elif group:
            lines.add(f"{out}.append({self._packed(group)})")

    def _packed(self, group: list[tuple[str, str]]) -> str:
        codes = "".join(code for code, _ in group)
        values = ", ".join(value for code, value in group if code != "x")
        return f"{self._encoders.pack(codes)}({values})"

    def _write(self, slot: Slot) -> None:
        if slot.is_array:
            self._write_array(slot)
        elif slot.type in CODES:
            self._fixed(CODES[slot.type][0], self._value(slot))
        elif slot.inner is not None:
            self._write_struct(slot)
        else:
            self._write_content(slot)

    def _take(self, slot: Slot) -> str:
        """Take the value, which must not be null where the version cannot say it."""
        field = self._fields[slot.name]
        value = local(field)
        self._lines.add(f"{value} = {self._value(slot)}")
        if is_optional(field) and not slot.is_nullable:
            with self._lines.block(f"if {value} is None:"):
                self._lines.add(f'raise null_field("{self._layout.struct}.{slot.name}")')
        return value

    def _length(self, slot: Slot, code: str) -> None:
        """Write the length `n`, which a compact form has as one more."""
        if slot.is_compact:
            self._flush(compact="text_length_of" if slot.type == "string" else "varint_of")
        else:
            self._fixed(code, "n")
            self._flush()

    def _measure(self, slot: Slot, value: str, assigned: str) -> None:
        """Set `n`, and what else is assigned, for a value that may be null."""
        lines, more = self._lines, " + 1" if slot.is_compact else ""
        measured = "content" if slot.type == "string" else value
        if not slot.is_nullable:
            if assigned:
                lines.add(f"{assigned} = {value}.encode()")
            lines.add(f"n = len({measured}){more}")
            return
        with lines.block(f"if {value} is None:"):
            if assigned:
                lines.add(f'{assigned} = b""')
            lines.add(f"n = {0 if slot.is_compact else -1}")
        with lines.block("else:"):
            if assigned:
                lines.add(f"{assigned} = {value}.encode()")
            lines.add(f"n = len({measured}){more}")

    def _write_content(self, slot: Slot) -> None:
        lines, out = self._lines, self._out
        value = self._take(slot)
        if slot.type == "string":
            self._measure(slot, value, "content")
            self._length(slot, "h")
            lines.add(f"{out}.append(content)")
            return
        self._measure(slot, value, "")
        self._length(slot, "i")
        if slot.type == "records":
            self._write_records(value, is_nullable=slot.is_nullable)
        elif slot.is_nullable:
            with lines.block(f"if {value} is not None:"):
                lines.add(f"{out}.append({value})")
        else:
            lines.add(f"{out}.append({value})")

    def _write_records(self, value: str, *, is_nullable: bool) -> None:
        lines = self._lines
        with lines.block(f"if {value} is None:" if is_nullable else "if n < 0:"):
            lines.add("pass")
        with lines.block("elif n < COPIED_RECORDS_BYTES:"):
            lines.add(f"out.append({value})")
        with lines.block("else:"):
            lines.add('buffers.append(b"".join(out))')
            lines.add("out.clear()")
            lines.add(f"buffers.append({value})")

    def _write_array(self, slot: Slot) -> None:
        lines = self._lines
        value = self._take(slot)
        self._measure(slot, value, "")
        self._length(slot, "i")
        with lines.block(f"if {value}:"):
            self._elements(slot, value)

    def _elements(self, slot: Slot, value: str) -> None:
        lines, out = self._lines, self._out
        if slot.inner is not None:
            self._structs(slot, value)
        elif slot.element == "string":
            write = "write_compact_texts" if slot.is_compact else "write_texts"
            lines.add(f"{write}({value}, {out})")
        elif slot.element == "uuid":
            lines.add(f"{out} += map({self._encoders.pack('16s')}, {value})")
        else:
            code = CODES[slot.element][0]
            lines.add(f'{out}.append(packer(len({value}), "{code}")(*{value}))')

    def _structs(self, slot: Slot, values: str) -> None:
        assert slot.inner is not None
        write = self._encoders.name_of(slot.inner, self._version)
        buffers = ", buffers" if slot.inner.has_records else ""
        self._lines.add(f"{write}({values}, {self._out}{buffers})")

    def _write_struct(self, slot: Slot) -> None:
        lines = self._lines
        value = self._take(slot)
        if not slot.is_nullable:
            self._flush()
            self._structs(slot, f"({value},)")
            return
        self._fixed("b", f"-1 if {value} is None else 1")
        self._flush()
        with lines.block(f"if {value} is not None:"):
            self._structs(slot, f"({value},)")

    def _write_tags(self) -> None:
        if not self._layout.is_flexible:
            return
        if not self._layout.tagged:
            self._fixed("x", "")
            return
        lines = self._lines
        self._flush()
        with lines.block(f"if {' and '.join(self._is_left_out(s) for s in self._layout.tagged)}:"):
            lines.add("out.append(ONE_BYTE[0])")
            lines.add("continue")
        lines.add("tags: list[tuple[int, list[Buffer]]] = []")
        self._out = "part"
        for slot in self._layout.tagged:
            is_only = len(self._layout.tagged) == 1
            with nullcontext() if is_only else lines.block(f"if not ({self._is_left_out(slot)}):"):
                self._write_tagged(slot)
        self._out = "out"
        lines.add("write_tags(tags, out)")

    def _write_tagged(self, slot: Slot) -> None:
        is_first = slot is self._layout.tagged[0]
        self._lines.add("part: list[Buffer] = []" if is_first else "part = []")
        self._write(slot)
        self._flush()
        self._lines.add(f"tags.append(({slot.tag}, part))")

    def _is_left_out(self, slot: Slot) -> str:
        """The condition under which a tagged field is not written: it has its default."""
        field, value = self._fields[slot.name], self._value(slot)
        default = default_of(field)
        if default == "None":
            more = (
                f" or {value} == {field.element}()"
                if field.is_struct and not field.is_array
                else ""
            )
            return f"({value} is None{more})" if more else f"{value} is None"
        if default in ("[]", '""', "False"):
            return f"not {value}"
        return f"{value} == {default}"

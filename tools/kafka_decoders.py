"""Writes the functions that read a message: straight-line code, one function a layout of a struct.

A function reads a number of structs of its layout and returns them with the position behind them.
Adjacent fields of fixed size, the first byte of a compact length among them, are one `unpack`.
"""

from __future__ import annotations

from kafka_classes import default_of, type_of
from kafka_layouts import CODES, Layout, Shapes, Slot, local, snake
from kafka_lines import Formats, Lines
from kafka_notation import Field


class Decoders:
    """Functions of one message, in the order in which they were asked for."""

    def __init__(self, shapes: Shapes, formats: Formats) -> None:
        self._shapes = shapes
        self._formats = formats
        self._names: dict[Layout, str] = {}
        has_records = shapes.layout(shapes.message.versions.last).has_records
        self._data = "memoryview" if has_records else "bytes"
        self.functions: list[str] = []

    def name_of(self, layout: Layout, version: int) -> str:
        """The function that reads structs of a layout, which `version` is the first to have."""
        if layout not in self._names:
            self._names[layout] = f"_read_{snake(layout.struct)}_{version}"
            self.functions.append(_Function(self, layout, version).text())
        return self._names[layout]

    def head(self, layout: Layout, version: int) -> str:
        """First line of the function."""
        return (
            f"def _read_{snake(layout.struct)}_{version}(data: {self._data}, at: int, end: int,"
            f" room: list[int], count: int) -> tuple[list[{layout.struct}], int]:"
        )

    @property
    def copied(self) -> str:
        """The call that makes bytes of a slice of the data."""
        return "" if self._data == "bytes" else ".tobytes()"

    def fields(self, struct: str) -> list[Field]:
        """Fields of a struct, of all versions."""
        return self._shapes.structs[struct]

    def unpack(self, codes: str) -> str:
        """Name of the `unpack_from` of a format."""
        return self._formats.reading(codes)


class _Function:
    def __init__(self, decoders: Decoders, layout: Layout, version: int) -> None:
        self._decoders, self._layout, self._version = decoders, layout, version
        self._lines = Lines()
        self._end = "end"
        self._group: list[tuple[str, str, int, str]] = []
        """Variable, format code, size and name of fixed fields that were not read yet."""
        fields = {field.name: field for field in decoders.fields(layout.struct)}
        self._local = {name: local(field) for name, field in fields.items()}

    def text(self) -> str:
        lines = self._lines
        with lines.block(self._decoders.head(self._layout, self._version)):
            lines.add(f"items: list[{self._layout.struct}] = []")
            with lines.block("for _ in range(count):"):
                for slot in self._layout.plain:
                    self._read(slot)
                self._read_tags()
                self._flush()
                lines.add(f"items.append({self._layout.struct}({', '.join(self._arguments())}))")
            lines.add("return items, at")
        return lines.text()

    def _arguments(self) -> list[str]:
        """Values up to the last field that the layout has, in the order of the class."""
        present = {slot.name for slot in self._layout.slots}
        fields = self._decoders.fields(self._layout.struct)
        while fields and fields[-1].name not in present:
            fields = fields[:-1]
        return [
            self._local[field.name] if field.name in present else default_of(field)
            for field in fields
        ]

    def _label(self, slot: Slot) -> str:
        return f'"{self._layout.struct}.{slot.name}"'

    def _fixed(self, variable: str, code: str, size: int, name: str) -> None:
        self._group.append((variable, code, size, name))

    def _flush(self) -> None:
        """Read the fixed fields that wait."""
        if not self._group:
            return
        group, self._group = self._group, []
        codes = "".join(code for _, code, _, _ in group)
        sizes = " ".join(f"{name}={size}" for _, _, size, name in group)
        total = sum(size for _, _, size, _ in group)
        lines, end = self._lines, self._end
        with lines.block(f"if {end} - at < {total}:" if total > 1 else f"if at >= {end}:"):
            lines.add(f'raise cut_off("{self._layout.struct}", "{sizes}", {end} - at)')
        if codes == "B":
            lines.add(f"{group[0][0]} = data[at]")
        elif len(group) == 1:
            lines.add(f"{group[0][0]} = {self._decoders.unpack(codes)}(data, at)[0]")
        else:
            names = ", ".join(variable for variable, _, _, _ in group)
            lines.add(f"{names} = {self._decoders.unpack(codes)}(data, at)")
        lines.add(f"at += {total}")

    def _read(self, slot: Slot) -> None:
        if slot.is_array:
            self._read_array(slot)
        elif slot.type in CODES:
            code, size = CODES[slot.type]
            self._fixed(self._local[slot.name], code, size, slot.name)
        elif slot.inner is not None:
            self._read_struct(slot)
        else:
            self._read_content(slot)

    def _length(self, slot: Slot, code: str, size: int) -> None:
        """Read the length `n` of what follows; a compact one is one more than it is."""
        self._fixed("n", *(("B", 1) if slot.is_compact else (code, size)), slot.name)
        self._flush()
        if slot.is_compact:
            long = "long_text" if slot.type == "string" else "long_varint"
            with self._lines.block("if n > 127:"):
                self._lines.add(f"n, at = {long}(data, at, {self._end}, n, {self._label(slot)})")

    def _read_content(self, slot: Slot) -> None:
        """Read a text, bytes or records."""
        lines, value = self._lines, self._local[slot.name]
        self._length(slot, *(("h", 2) if slot.type == "string" else ("i", 4)))
        if not slot.is_nullable:
            self._content(slot)
            return
        with lines.block(f"if n == {0 if slot.is_compact else -1}:"):
            lines.add(f"{value} = None")
        with lines.block("else:"):
            self._content(slot)

    def _content(self, slot: Slot) -> None:
        lines, value = self._lines, self._local[slot.name]
        shift = " - 1" if slot.is_compact else ""
        lines.add(f"stop = at + n{shift}")
        with lines.block(f"if n < {1 if slot.is_compact else 0} or stop > {self._end}:"):
            lines.add(f"raise bad_length({self._label(slot)}, n{shift}, {self._end} - at)")
        if slot.type == "records":
            lines.add(f"{value} = data[at:stop]")
        elif slot.type == "bytes":
            lines.add(f"{value} = data[at:stop]{self._decoders.copied}")
        else:
            with lines.block("try:"):
                lines.add(f"{value} = data[at:stop]{self._decoders.copied}.decode()")
            with lines.block("except UnicodeDecodeError:"):
                lines.add(f"raise not_utf8({self._label(slot)}) from None")
        lines.add("at = stop")

    def _read_array(self, slot: Slot) -> None:
        lines, value = self._lines, self._local[slot.name]
        self._length(slot, "i", 4)
        if slot.is_nullable:
            with lines.block(f"if n == {0 if slot.is_compact else -1}:"):
                lines.add(f"{value} = None")
            with lines.block("else:"):
                self._elements(slot)
        else:
            self._elements(slot)

    def _elements(self, slot: Slot) -> None:
        lines, value, label = self._lines, self._local[slot.name], self._label(slot)
        if slot.is_compact:
            lines.add("n -= 1")
        lines.add("room[0] -= n")
        size = slot.element_bytes_min
        product = "n" if size == 1 else f"{size} * n"
        with lines.block(f"if n < 0 or {product} > {self._end} - at or room[0] < 0:"):
            lines.add(f"raise bad_count({label}, n, {self._end} - at, room[0])")
        if slot.inner is not None:
            read = self._decoders.name_of(slot.inner, self._version)
            lines.add(f"{value}, at = {read}(data, at, {self._end}, room, n)")
        elif slot.element == "string":
            read = "read_compact_texts" if slot.is_compact else "read_texts"
            lines.add(f"{value}, at = {read}(data, at, {self._end}, n, {label})")
        else:
            code, size = CODES[slot.element]
            call = "read_uuids(data, at, n)"
            if slot.element != "uuid":
                call = f'read_numbers(data, at, n, "{code}")'
            lines.add(f"{value} = {call}")
            lines.add(f"at += {size} * n" if size > 1 else "at += n")

    def _read_struct(self, slot: Slot) -> None:
        """Read a struct as a list of one."""
        lines, value = self._lines, self._local[slot.name]
        if not slot.is_nullable:
            self._flush()
            self._one(slot)
            return
        self._fixed("n", "b", 1, slot.name)
        self._flush()
        with lines.block("if n < 0:"):
            lines.add(f"{value} = None")
        with lines.block("else:"):
            self._one(slot)

    def _one(self, slot: Slot) -> None:
        assert slot.inner is not None
        read = self._decoders.name_of(slot.inner, self._version)
        self._lines.add(f"({self._local[slot.name]},), at = {read}(data, at, {self._end}, room, 1)")

    def _read_tags(self) -> None:
        if not self._layout.is_flexible:
            return
        lines, struct = self._lines, self._layout.struct
        self._fixed("tags", "B", 1, "tags")
        self._flush()
        fields = {field.name: field for field in self._decoders.fields(struct)}
        for slot in self._layout.tagged:
            field = fields[slot.name]
            lines.add(f"{self._local[slot.name]}: {type_of(field)} = {default_of(field)}")
        with lines.block("if tags:"):
            if not self._layout.tagged:
                lines.add(f'at = skip_tags(data, at, end, tags, "{struct}")')
                return
            lines.add(f'tags, at = tag_count(data, at, end, tags, "{struct}")')
            with lines.block("for _ in range(tags):"):
                lines.add(f'tag, size, at = tag_head(data, at, end, "{struct}")')
                lines.add("tag_end = at + size")
                self._read_known_tags()

    def _read_known_tags(self) -> None:
        lines, word = self._lines, "if"
        self._end = "tag_end"
        for slot in self._layout.tagged:
            with lines.block(f"{word} tag == {slot.tag}:"):
                self._read(slot)
                self._flush()
                with lines.block("if at != tag_end:"):
                    lines.add(f"raise bad_tag({self._label(slot)})")
            word = "elif"
        with lines.block("else:"):
            lines.add("at = tag_end")
        self._end = "end"

"""Writes the class of a message and of each of its structs: the fields of all versions."""

from __future__ import annotations

from kafka_layouts import Shapes, attribute
from kafka_lines import Lines
from kafka_notation import Field

_TYPES = {
    "bool": ("bool", "False"),
    "float64": ("float", "0.0"),
    "string": ("str", '""'),
    "bytes": ("bytes", 'b""'),
    "records": ("Buffer", "None"),
    "uuid": ("bytes", "NO_UUID"),
}
WRITTEN_ALONE = frozenset({"MetadataResponseTopic"})
"""Structs that may be put into a message as bytes."""


def is_optional(field: Field) -> bool:
    """True if the value may be None: nullable, or a tagged struct, which None leaves out."""
    is_tagged_struct = field.is_struct and not field.is_array and not field.tagged.is_empty
    return is_tagged_struct or not field.nullable.is_empty


def type_of(field: Field) -> str:
    """The annotation of a field."""
    name = field.element if field.is_struct else _TYPES.get(field.element, ("int", ""))[0]
    name = f"list[{name}]" if field.is_array else name
    return f"{name} | None" if is_optional(field) else name


def default_of(field: Field) -> str:
    """The value of a field that is not there, as an expression."""
    if field.default is not None:
        return {"null": "None", "true": "True"}.get(field.default, field.default)
    if field.is_array:
        return "[]"
    if field.is_struct:
        return "None" if is_optional(field) else f"{field.element}()"
    return _TYPES.get(field.type, ("int", "0"))[1]


def _declared_default(field: Field) -> str:
    value = default_of(field)
    return f"field(default_factory=lambda: {value})" if value == f"{field.element}()" else value


def class_of(shapes: Shapes, struct: str) -> str:
    """The class of the message, or of one of its structs."""
    message = shapes.message
    lines = Lines()
    with lines.block(f"class {struct}({_base(shapes, struct)}, gc=False):"):
        if struct == message.name:
            lines.add(f'"""{_about(shapes)}"""\n')
            if message.key is not None:
                lines.add(f"API_KEY: ClassVar[int] = {message.key}")
            first, last = message.versions.first, message.versions.last
            lines.add(f"VERSIONS: ClassVar[range] = range({first}, {last + 1})")
            if not message.flexible.is_empty:
                first = message.flexible.first
                lines.add(f"FLEXIBLE: ClassVar[range] = range({first}, {last + 1})")
            lines.add("")
        for one in shapes.structs[struct]:
            lines.add(f"{attribute(one)}: {type_of(one)} = {_declared_default(one)}")
        if struct in WRITTEN_ALONE:
            lines.add('encoded: bytes = b""')
            lines.add('"""What `encode` made of such a struct: written instead of all fields."""')
        if not shapes.structs[struct]:
            lines.add("pass")
    return lines.text()


def _base(shapes: Shapes, struct: str) -> str:
    if struct != shapes.message.name:
        return "Part" if struct in WRITTEN_ALONE else "msgspec.Struct"
    has_records = shapes.layout(shapes.message.versions.last).has_records
    return "RecordsMessage" if has_records else "Message"


def _about(shapes: Shapes) -> str:
    message = shapes.message
    kind = message.kind.capitalize()
    name = kind if message.key is None else f"{kind} of API {message.key}"
    unstable = "; the last is not final" if message.is_unstable else ""
    return f"{name}, versions {message.versions.whole()}{unstable}."

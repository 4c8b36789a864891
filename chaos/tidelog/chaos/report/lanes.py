"""The lanes of a figure: whom faults strike, who leads by which epoch, who is in the ISR. Pure.

A node's lane, from top to bottom:

    ▆▆ kill ▆▆            faults that strike it
    ███ epoch 3 ███  ░░░  its replica's role: full while it leads, pale while it follows
    ▂▂▂▂▂▂▂▂▂▂▂▂     ▂▂▂  in the ISR, outlined in the ELR, by the committed metadata
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tidelog.chaos.report.canvas import (
    LEFT,
    RIGHT,
    Figure,
    Part,
    Pixels,
    bars,
    label,
    level,
    width_of,
)
from tidelog.chaos.report.frames import TITLE_PX, title
from tidelog.chaos.report.markup import NOTHING, Markup, element, join
from tidelog.chaos.report.record import Band, PartitionPoint
from tidelog.chaos.report.story import Role, Spell, State

_FAULT_PX, _ROLE_PX, _ISR_PX, _GAP_PX, _LANE_GAP_PX = 15.0, 16.0, 4.0, 2.0, 12.0
_ROWS_MAX, _NODES_MAX = 3, 2
_ROOM_PX = 10.0
"""Beside a label in its bar."""
_LABELS_MAX = 24
"""Labels of faults in one lane: more would be a blur."""

_KEY = (
    ("fault", 9.0, "a fault"),
    ("leader nx", 9.0, "leads"),
    ("deposed nx", 9.0, "leads in an epoch that is over"),
    ("follower nx", 9.0, "follows"),
    ("isr nx", 4.0, "in the ISR"),
    ("elr nx", 4.0, "in the ELR"),
)


@dataclass(frozen=True, slots=True)
class Block:
    """A bar of a lane, and what may be written into it, the longest first."""

    extent: Pixels
    class_: str
    words: Sequence[str]


def node_lanes(figure: Figure, top: float) -> Part:
    """The lanes of links, struck controllers and every broker."""
    story = figure.story
    parts = [title(top, "Nodes", ""), _key(figure, top)]
    top += TITLE_PX + 2
    bands = [b for b in story.bands if figure.sees(b.began_s, story.end_of(b))]
    struck = {node for band in bands for node in _nodes_struck(band)}
    others = sorted(struck - set(story.record.broker_ids))
    if not all(map(_nodes_struck, bands)):
        lane = _fault_lane(figure, top, "links", _striking(figure, None))
        parts, top = [*parts, lane.markup], lane.bottom
    for node_id in others:
        lane = _fault_lane(figure, top, figure.node_name(node_id), _striking(figure, node_id))
        parts, top = [*parts, lane.markup], lane.bottom
    for node_id in story.record.broker_ids:
        lane = _broker_lane(figure, top, node_id)
        parts, top = [*parts, lane.markup], lane.bottom
    return Part(join(parts), top)


def _key(figure: Figure, top: float) -> Markup:
    """The key: the meaning of the bars, each beside a piece of it."""
    x, parts = LEFT + 52, []
    for class_, height, words in _KEY:
        piece = bars([(x, x + 22)], top=top + 7 - height / 2, height=height, class_=class_)
        striped = [_add_stripes(figure, piece)] if class_.startswith("deposed") else []
        parts += [piece, *striped, label(x + 28, top + 11, words, class_="note")]
        x += 28 + width_of(words) + 12
    return join(parts)


def metadata_lanes(figure: Figure, top: float) -> Part:
    """Lanes of committed metadata: the partition's leader, and the active controller."""
    leaders = figure.story.of_partition(lambda point: (point.leader_id, point.leader_epoch))
    terms = figure.story.of_partition(lambda point: (point.controller_id, point.term))
    parts = [
        _lane_name(top + 12, "leader", "lane"),
        _blocks(figure, top, [_draw_leadership(figure, spell) for spell in leaders]),
    ]
    top += _ROLE_PX + 6
    parts += [
        _lane_name(top + 12, "controller", "lane"),
        _blocks(figure, top, [_draw_controller(figure, spell) for spell in terms]),
    ]
    return Part(join(parts), top + _ROLE_PX + _LANE_GAP_PX)


def _draw_leadership(figure: Figure, spell: Spell[tuple[int | None, int]]) -> Block:
    node_id, epoch = spell.state
    if node_id is None:
        return Block(_extent(figure, spell), "vacant", ("no leader", "none"))
    name = figure.node_name(node_id)
    words = (f"{name}, epoch {epoch}", f"{node_id}, epoch {epoch}", f"{node_id}")
    return Block(_extent(figure, spell), f"leader {figure.colour(node_id)}", words)


def _draw_controller(figure: Figure, spell: Spell[tuple[int | None, int]]) -> Block:
    node_id, term = spell.state
    if node_id is None:
        return Block(_extent(figure, spell), "vacant", ("no controller", "none"))
    words = (f"node {node_id}, term {term}", f"{node_id}, term {term}", f"{node_id}")
    return Block(_extent(figure, spell), "controller", words)


def _striking(figure: Figure, node_id: int | None) -> list[Band]:
    return [
        band
        for band in figure.story.bands
        if (node_id in _nodes_struck(band) if node_id is not None else not _nodes_struck(band))
        and figure.sees(band.began_s, figure.story.end_of(band))
    ]


def _nodes_struck(band: Band) -> tuple[int, ...]:
    """Its nodes; what strikes many of them strikes what is between them."""
    return band.nodes if len(band.nodes) <= _NODES_MAX else ()


def _fault_lane(figure: Figure, top: float, name: str, bands: list[Band]) -> Part:
    rows = _fault_rows(figure, top, bands)
    bottom = max(rows.bottom, top + _FAULT_PX)
    return Part(join([_lane_name(top + 10.5, name, "lane"), rows.markup]), bottom + 7)


def _broker_lane(figure: Figure, top: float, node_id: int) -> Part:
    rows = _fault_rows(figure, top, _striking(figure, node_id))
    role_top = rows.bottom
    isr_top = role_top + _ROLE_PX + _GAP_PX
    colour = figure.colour(node_id)
    roles = [spell for spell in figure.story.roles(node_id) if spell.state.name != "down"]
    parts = [
        _lane_name(role_top + 12, figure.node_name(node_id), f"lane name {colour}"),
        _lane_name(isr_top + 5, "in the ISR", "lane minor"),
        level(role_top + _ROLE_PX / 2, LEFT, RIGHT, "absent"),
        rows.markup,
        _blocks(figure, role_top, [_played(figure, spell, colour) for spell in roles]),
        _isr_strip(figure, isr_top, node_id),
    ]
    return Part(join(parts), isr_top + _ISR_PX + _LANE_GAP_PX)


def _lane_name(y: float, words: str, class_: str) -> Markup:
    return label(LEFT - 12, y, words, class_=class_)


def _played(figure: Figure, spell: Spell[Role], colour: str) -> Block:
    role, extent = spell.state, _extent(figure, spell)
    epoch = f"epoch {role.leader_epoch}"
    match role.name:
        case "leader" if role.is_deposed:
            return Block(extent, f"deposed {colour}", (f"still leads in {epoch}", epoch))
        case "leader":
            words = (f"leads in {epoch}", epoch, f"{role.leader_epoch}")
            return Block(extent, f"leader {colour}", words)
        case "follower":
            return Block(extent, f"follower {colour}", (epoch, f"{role.leader_epoch}"))
    return Block(extent, f"idle {colour}", ("no role",))


def _blocks(figure: Figure, top: float, blocks: Sequence[Block]) -> Markup:
    """The bars of a kind as one path, with as much text in each as fits."""
    seen = [block for block in blocks if block.extent[1] > LEFT and block.extent[0] < RIGHT]
    parts = []
    for class_ in sorted({block.class_ for block in seen}):
        extents = [(b.extent[0], b.extent[1] - 1) for b in seen if b.class_ == class_]
        drawn = bars(extents, top=top, height=_ROLE_PX, class_=class_)
        parts += [drawn, _add_stripes(figure, drawn)] if class_.startswith("deposed") else [drawn]
    return join([*parts, *(_inscription(block, top) for block in seen)])


def _add_stripes(figure: Figure, drawn: Markup) -> Markup:
    """The same shape once more, over it, in stripes."""
    shape = Markup(drawn.replace('class="deposed', 'class="stripes'))
    return element("g", shape, fill=f"url(#{figure.name}-hatch)")


def _inscription(block: Block, top: float) -> Markup:
    left, right = block.extent
    room = right - left - _ROOM_PX
    is_bold = block.class_.startswith(("leader", "deposed"))
    fits = (words for words in block.words if width_of(words, is_bold=is_bold) <= room)
    fitting = next(fits, None)
    if fitting is None:
        return NOTHING
    return label(left + 6, top + 12, fitting, class_=f"in {block.class_.split()[0]}")


def _isr_strip(figure: Figure, top: float, node_id: int) -> Markup:
    """In the ISR, or outlined: in the ELR."""
    extents: dict[str, list[Pixels]] = {"isr": [], "elr": []}
    for spell in figure.story.of_partition(lambda point: _standing(point, node_id)):
        if spell.state and figure.sees(spell.began_s, spell.ended_s):
            extents[spell.state].append(_extent(figure, spell))
    colour = figure.colour(node_id)
    return join(
        bars(found, top=top, height=_ISR_PX, class_=f"{kind} {colour}")
        for kind, found in extents.items()
    )


def _standing(point: PartitionPoint, node_id: int) -> str:
    if node_id in point.isr:
        return "isr"
    return "elr" if node_id in point.elr else ""


def _extent(figure: Figure, spell: Spell[State]) -> Pixels:
    return figure.time.at(spell.began_s), figure.time.at(spell.ended_s)


def _fault_rows(figure: Figure, top: float, bands: list[Band]) -> Part:
    """Bars with their labels, in as few rows as hold them side by side."""
    parts = []
    for row in _pack(figure, bands):
        ends = [figure.story.end_of(band) for band in row]
        extents = [
            (figure.time.at(band.began_s), figure.time.at(end_s))
            for band, end_s in zip(row, ends, strict=True)
        ]
        parts.append(bars(extents, top=top, height=_FAULT_PX, class_="fault"))
        if len(bands) <= _LABELS_MAX:
            parts += _fault_labels(row, extents, top + 11.5)
        top += _FAULT_PX + 2
    return Part(join(parts), top)


def _pack(figure: Figure, bands: list[Band]) -> list[list[Band]]:
    if len(bands) > _LABELS_MAX:
        return [bands]
    rows: list[list[Band]] = []
    for band in bands:
        free = (row for row in rows if figure.story.end_of(row[-1]) <= band.began_s)
        row = next(free, None)
        if row is not None:
            row.append(band)
        elif len(rows) < _ROWS_MAX:
            rows.append([band])
        else:
            rows[-1].append(band)
    return rows


def _fault_labels(row: list[Band], extents: list[Pixels], y: float) -> list[Markup]:
    """In the bar, or behind it if there is more room before the next."""
    found = []
    limits = [left for left, _ in extents[1:]] + [RIGHT + 60]
    for band, (left, right), limit in zip(row, extents, limits, strict=True):
        inner, outer = right - left - _ROOM_PX, limit - right - 2 * _ROOM_PX
        full = f"{band.kind}: {band.what}"
        is_inside = width_of(full) <= inner or inner >= outer
        words = _shorten(full, inner if is_inside else outer, least=len(band.kind))
        if words and is_inside:
            found.append(label(left + 6, y, words, class_="in fault"))
        elif words:
            found.append(label(right + 5, y, words, class_="beside"))
    return found


def _shorten(words: str, room: float, *, least: int) -> str:
    """As much of it as there is room for, but no less than its first `least` characters."""
    if width_of(words) <= room:
        return words
    number = int(room / width_of("x")) - 1
    if number < least:
        return ""
    return f"{words[:number].rstrip(' :')}…" if number > least + 4 else words[:least]

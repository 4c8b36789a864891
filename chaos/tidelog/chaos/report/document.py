"""A page around its content: a whole file that needs no other. Pure."""

from __future__ import annotations

from tidelog.chaos.report.markup import Markup, element, text
from tidelog.chaos.report.style import COLOURS, FIGURE_STYLE, PAGE_STYLE


def document(title: str, *content: Markup) -> str:
    """A whole page."""
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", text(title)),
        element("style", Markup(COLOURS + FIGURE_STYLE + PAGE_STYLE)),
    )
    body = element("body", element("main", *content))
    return f"<!DOCTYPE html>\n{element('html', head, body, lang='en')}\n"

"""The names in docs/ARCHITECTURE.md's walks are there, and its picture names every package."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

from tests.test_tidy import ALLOWED

PAGE = Path(__file__).resolve().parent.parent / "docs" / "ARCHITECTURE.md"
TEXT = PAGE.read_text(encoding="utf-8")
NAMES = sorted(set(re.findall(r"`([a-z_]+(?:\.[a-z_]+)+):(\w+(?:\.\w+)*)`", TEXT)))
MODULES = sorted(
    set(re.findall(r"`((?:broker|metadata|node|records|log|chaos)(?:\.[a-z_]+)+)`", TEXT))
)


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_a_name_of_the_walks_exists(module: str, name: str) -> None:
    found: object = import_module(f"tidelog.{module}")
    for part in name.split("."):
        found = getattr(found, part)


@pytest.mark.parametrize("module", MODULES)
def test_a_module_of_the_walks_exists(module: str) -> None:
    import_module(f"tidelog.{module}")


def test_the_walks_name_enough_to_follow_them() -> None:
    assert len(NAMES) >= 20


def test_the_picture_shows_every_package() -> None:
    picture = TEXT.partition("## The picture")[2].partition("Imports go only")[0]
    assert [package for package in ALLOWED if f"{package}/" not in picture] == []

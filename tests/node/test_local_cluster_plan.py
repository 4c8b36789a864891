"""The folder of the cluster that no option names."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidelog.node.local_cluster import plan

CHECKOUT = Path(__file__).resolve().parents[2]


def test_a_checkout_has_one_cluster_from_whatever_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert plan.default_folder() == CHECKOUT / ".data"


def test_an_installed_package_keeps_its_cluster_in_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = tmp_path / "lib" / "site-packages" / "tidelog" / "node" / "local_cluster"
    monkeypatch.setattr(plan, "__file__", str(installed / "plan.py"))
    monkeypatch.chdir(tmp_path)
    assert plan.default_folder() == tmp_path / ".data"

"""A node touches a data folder only when it is its own."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tidelog.core.system import SystemDisk
from tidelog.net.listeners import one_listener
from tidelog.node.config import NodeConfig
from tidelog.node.data_directory import DataDirectoryError, format_or_check
from tidelog.simulation.engine.disk import SimDisk


def config_for(path: Path, *, node_id: int = 1, cluster_id: str = "c") -> NodeConfig:
    return NodeConfig(
        node_id=node_id,
        cluster_id=cluster_id,
        listeners=one_listener("127.0.0.1:1"),
        data_dir=str(path),
        controller_voters={node_id: "127.0.0.1:1"},
    )


async def test_missing_folder_is_formatted_once_and_accepted_again(tmp_path: Path) -> None:
    config = config_for(tmp_path / "node-1")
    await format_or_check(SystemDisk(), config)
    written = (tmp_path / "node-1" / "meta.properties").read_text()
    await format_or_check(SystemDisk(), config)
    assert written == "version=2\ncluster.id=c\nnode.id=1\n"
    assert (tmp_path / "node-1" / "meta.properties").read_text() == written


async def test_folder_without_properties_is_refused_and_left_untouched(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(DataDirectoryError, match=r"thesis\.txt.*move it away"):
        await format_or_check(SystemDisk(), config_for(tmp_path))
    assert SystemDisk().list(str(tmp_path)) == ["thesis.txt"]


@pytest.mark.parametrize(
    ("other", "named"), [({"node_id": 2}, "node.id=1"), ({"cluster_id": "d"}, "cluster.id=c")]
)
async def test_folder_of_another_node_or_cluster_is_refused(
    tmp_path: Path, other: dict[str, object], named: str
) -> None:
    await format_or_check(SystemDisk(), config_for(tmp_path))
    with pytest.raises(DataDirectoryError, match=named):
        await format_or_check(SystemDisk(), config_for(tmp_path, **other))  # type: ignore[arg-type]


async def test_folder_of_an_earlier_version_is_refused_in_a_sentence(tmp_path: Path) -> None:
    before = "version=1\ncluster.id=c\nnode.id=1\n"
    (tmp_path / "meta.properties").write_text(before)
    with pytest.raises(
        DataDirectoryError, match=r"version=1.*reads version 2 only: move"
    ) as raised:
        await format_or_check(SystemDisk(), config_for(tmp_path))
    assert "\n" not in raised.value.message
    assert (tmp_path / "meta.properties").read_text() == before


async def test_torn_properties_are_refused(tmp_path: Path) -> None:
    (tmp_path / "meta.properties").write_text("version=2\nclus")
    with pytest.raises(DataDirectoryError, match="says cluster"):
        await format_or_check(SystemDisk(), config_for(tmp_path))


async def test_format_cut_short_before_its_rename_is_done_again(tmp_path: Path) -> None:
    (tmp_path / "meta.properties.tmp").write_text("vers")
    await format_or_check(SystemDisk(), config_for(tmp_path))
    assert "node.id=1" in (tmp_path / "meta.properties").read_text()


@pytest.mark.parametrize("seed", range(10))
async def test_a_formatted_folder_survives_a_power_cut_however_deep_it_lies(seed: int) -> None:
    disk = SimDisk(random.Random(seed), 0.0)
    config = config_for(Path("/srv/some/deep/place"))
    await format_or_check(disk, config)
    disk.crash()
    assert disk.exists("/srv/some/deep/place/meta.properties")

"""The plan of a cluster on one machine: its folder, its nodes, its ports."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidelog.node.local_cluster import plan
from tidelog.node.local_cluster.errors import LocalClusterError
from tidelog.testing.plans import settings_of

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


def _ports(plans: list[plan.NodePlan]) -> list[int]:
    return [int(one.address.rpartition(":")[2]) for one in plans]


def test_three_nodes_by_default_keep_three_replicas_and_need_two(tmp_path: Path) -> None:
    plans = plan.load_or_create(tmp_path, ports=None, http_ports=None)
    assert _ports(plans) == [9192, 9193, 9194]
    assert [one.config.http_port for one in plans] == [9292, 9293, 9294]
    for one in plans:
        config = one.config.controller
        assert config.num_partitions == 3
        assert (config.default_replication_factor, config.initial_min_insync_replicas) == (3, 2)


@pytest.mark.parametrize(("nodes", "replicas", "min_isr"), [(1, 1, 1), (2, 2, 1), (5, 3, 2)])
def test_other_numbers_of_nodes(tmp_path: Path, nodes: int, replicas: int, min_isr: int) -> None:
    plans = plan.load_or_create(tmp_path, nodes=nodes, ports=None, http_ports=None)
    config = plans[0].config.controller
    assert len(plans) == len(plans[0].config.controller_voters) == nodes
    assert config.default_replication_factor == replicas
    assert config.initial_min_insync_replicas == min_isr
    of_test = settings_of(nodes, {})
    for one in (plans[0].config, of_test):
        transactions = one.transactions
        assert one.groups.offsets_topic_replication_factor == replicas
        assert transactions.transaction_state_log_replication_factor == replicas
        assert transactions.transaction_state_log_min_isr == min_isr


def test_ports_of_zero_are_chosen_once(tmp_path: Path) -> None:
    chosen = plan.load_or_create(tmp_path, ports=[0], http_ports=[0])
    everything = _ports(chosen) + [one.config.http_port for one in chosen]
    assert len(set(everything)) == 6
    assert None not in everything
    assert 0 not in everything
    assert _ports(plan.load_or_create(tmp_path, ports=[0], http_ports=[0])) == _ports(chosen)
    assert _ports(plan.load_or_create(tmp_path, ports=None, http_ports=None)) == _ports(chosen)


def test_another_number_of_nodes_is_refused(tmp_path: Path) -> None:
    plan.load_or_create(tmp_path, nodes=1, ports=None, http_ports=None)
    with pytest.raises(LocalClusterError, match=r"is 1, not 3: leave --nodes out"):
        plan.load_or_create(tmp_path, nodes=3, ports=None, http_ports=None)
    other = tmp_path / "other"
    with pytest.raises(LocalClusterError, match="a port for each of 3 nodes"):
        plan.load_or_create(other, nodes=3, ports=[1, 2], http_ports=None)


def _kafka(plans: list[plan.NodePlan]) -> list[str | None]:
    return [one.kafka_address for one in plans]


def test_ports_of_kafka_are_listeners_beside_those_of_grpc(tmp_path: Path) -> None:
    plans = plan.load_or_create(tmp_path, ports=None, http_ports=None, kafka_ports=[7, 8, 9])
    assert _kafka(plans) == ["127.0.0.1:7", "127.0.0.1:8", "127.0.0.1:9"]
    assert _ports(plans) == [9192, 9193, 9194]
    assert [str(one) for one in plans[0].config.listeners] == [
        "GRPC://127.0.0.1:9192",
        "KAFKA://127.0.0.1:7",
    ]


def test_new_clusters_have_the_ports_of_kafka(tmp_path: Path) -> None:
    plans = plan.load_or_create(tmp_path, ports=None, http_ports=None)
    assert _kafka(plans) == ["127.0.0.1:9092", "127.0.0.1:9093", "127.0.0.1:9094"]


def test_with_any_free_ports_those_of_kafka_are_free_ones_too(tmp_path: Path) -> None:
    chosen = _kafka(plan.load_or_create(tmp_path, ports=[0], http_ports=[0]))
    assert len(set(chosen) - {None}) == 3
    assert "127.0.0.1:9092" not in chosen


def test_without_ports_of_kafka_a_node_has_the_one_listener_it_always_had(tmp_path: Path) -> None:
    plans = plan.load_or_create(tmp_path, ports=None, http_ports=None, kafka_ports=plan.NO_PORTS)
    assert _kafka(plans) == [None, None, None]
    assert [one.config.listeners[0].name for one in plans] == ["PLAINTEXT"] * 3


def test_free_grpc_ports_bring_free_ports_of_every_listener(tmp_path: Path) -> None:
    (tmp_path / "free").mkdir()
    plans = plan.load_or_create(tmp_path / "free", ports=[0], http_ports=None)
    (tmp_path / "given").mkdir()
    given = plan.load_or_create(tmp_path / "given", ports=[0], http_ports=[7001, 7002, 7003])

    assert not {one.config.http_port for one in plans} & set(plan.HTTP_PORTS)
    assert not {f"127.0.0.1:{port}" for port in plan.KAFKA_PORTS} & set(_kafka(plans))
    assert [one.config.http_port for one in given] == [7001, 7002, 7003]


def test_a_folder_keeps_its_ports_of_kafka(tmp_path: Path) -> None:
    def load(folder: str, kafka_ports: list[int] | None) -> list[str | None]:
        plans = plan.load_or_create(
            tmp_path / folder, ports=[0], http_ports=[0], kafka_ports=kafka_ports
        )
        return _kafka(plans)

    for folder in ("with", "without"):
        (tmp_path / folder).mkdir()
    chosen = load("with", [0])
    assert len(set(chosen) - {None}) == 3
    assert load("with", [0]) == load("with", None) == chosen
    with pytest.raises(LocalClusterError, match="none of Kafka's ports: leave --kafka-ports out"):
        load("with", [])
    with pytest.raises(LocalClusterError, match="not 7,8,9: leave --kafka-ports out"):
        load("with", [7, 8, 9])
    assert load("without", []) == [None, None, None]
    assert load("without", None) == [None, None, None]
    with pytest.raises(LocalClusterError, match="listens on none of Kafka's ports, not 0"):
        load("without", [0])


def test_a_port_of_kafka_is_given_for_each_node(tmp_path: Path) -> None:
    with pytest.raises(LocalClusterError, match="a port for each of 3 nodes"):
        plan.load_or_create(tmp_path, nodes=3, ports=None, http_ports=None, kafka_ports=[1, 2])

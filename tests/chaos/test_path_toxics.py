"""Paths as toxics on links: upstream one way, downstream the other, and each taken back once."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from tests.virtual_loop import run_virtual

from tidelog.chaos.faults.proxies import ProxyToxic
from tidelog.chaos.sockets.path_toxics import PathToxics, cuts, delays
from tidelog.chaos.story.cluster_port import Path
from tidelog.chaos.topology import Link, Topology


class FakeProxies:
    """Keeps what lies on which link; the same toxic twice is an error, as with Toxiproxy."""

    def __init__(self) -> None:
        self.links = Topology().links()
        self.toxics: dict[tuple[Link, str, str], ProxyToxic] = {}

    async def add(self, links: Iterable[Link], toxic: ProxyToxic) -> None:
        for link in links:
            key = link, toxic.kind, toxic.stream
            assert key not in self.toxics
            self.toxics[key] = toxic

    async def remove(self, links: Iterable[Link], toxic: ProxyToxic) -> None:
        for link in links:
            self.toxics.pop((link, toxic.kind, toxic.stream), None)

    async def disable(self, links: Iterable[Link]) -> None:
        raise NotImplementedError

    async def enable(self, links: Iterable[Link]) -> None:
        raise NotImplementedError

    async def reset(self) -> None:
        self.toxics.clear()

    async def bytes_carried(self) -> dict[Link, tuple[int, int]]:
        return {}

    def struck(self) -> set[tuple[str, str]]:
        return {(link.name, stream) for link, _, stream in self.toxics}


@pytest.fixture
def proxies() -> FakeProxies:
    return FakeProxies()


def _add(toxics: PathToxics, *paths: Path) -> None:
    run_virtual(toxics.add(paths))


def _remove(toxics: PathToxics, *paths: Path) -> None:
    run_virtual(toxics.remove(paths))


def test_what_one_broker_says_to_another_is_cut_on_both_links_between(
    proxies: FakeProxies,
) -> None:
    _add(cuts(proxies), (4, 5))

    assert proxies.struck() == {
        ("node-4.node-5.broker", "upstream"),
        ("node-5.node-4.broker", "downstream"),
    }


def test_every_role_of_a_controller_is_meant(proxies: FakeProxies) -> None:
    _add(cuts(proxies), (1, 2))

    assert proxies.struck() == {
        ("node-1.node-2.controller", "upstream"),
        ("node-1.node-2.raft", "upstream"),
        ("node-2.node-1.controller", "downstream"),
        ("node-2.node-1.raft", "downstream"),
    }


def test_clients_hear_nothing_though_brokers_hear_them(proxies: FakeProxies) -> None:
    _add(cuts(proxies), (4, "clients"))

    assert proxies.struck() == {("clients.node-4.broker", "downstream")}


def test_a_path_cut_twice_carries_again_when_both_are_taken_back(proxies: FakeProxies) -> None:
    toxics = cuts(proxies)
    _add(toxics, (4, 5), (4, 6))
    _add(toxics, (4, 5))
    _remove(toxics, (4, 5), (4, 6))

    assert ("node-4.node-5.broker", "upstream") in proxies.struck()
    assert ("node-4.node-6.broker", "upstream") not in proxies.struck()
    _remove(toxics, (4, 5))
    assert not proxies.struck()


def test_taking_back_what_was_not_struck_changes_nothing(proxies: FakeProxies) -> None:
    toxics = cuts(proxies)
    _remove(toxics, (4, 5))
    _add(toxics, (4, 5))

    assert proxies.struck()


def test_a_cut_holds_connections_and_a_delay_is_a_late_answer(proxies: FakeProxies) -> None:
    _add(cuts(proxies), (4, 5))
    _add(delays(proxies), (4, 5))

    kinds = {(toxic.kind, *toxic.attributes.items()) for toxic in proxies.toxics.values()}
    assert kinds == {("timeout", ("timeout", 0)), ("latency", ("latency", 5000))}


def test_after_a_reset_everything_may_be_cut_again(proxies: FakeProxies) -> None:
    toxics = cuts(proxies)
    _add(toxics, (4, 5))
    run_virtual(proxies.reset())
    toxics.forget()
    _add(toxics, (4, 5))

    assert proxies.struck()

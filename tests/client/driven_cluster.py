"""Real nodes for tests that are no coroutines: each step of such a test waits for the cluster."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Coroutine, Iterable, Mapping
from typing import Any, TypeVar

from tests.client.real_cluster import RealCluster
from tests.node.group_calls import GroupCalls, HandMember

from tidelog.records.batch import iter_batches
from tidelog.records.records import Record

T = TypeVar("T")


class DrivenCluster(ABC):
    """A cluster on a loop that the test does not run on; `nodes` is the cluster itself."""

    nodes: RealCluster

    @abstractmethod
    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Wait for work on the loop of the nodes, on virtual time."""

    def begin(self, work: Coroutine[Any, Any, None]) -> None:
        """See `RealCluster.beside`; it goes on while the loop of the nodes runs."""

        async def begin() -> None:
            self.nodes.beside(work)

        self.run(begin())

    def create(self, name: str, *, partitions: int = 1, replicas: int = 3) -> None:
        """See `RealCluster.create`."""
        self.run(self.nodes.create(name, partitions=partitions, replicas=replicas))

    def append(self, name: str, number: int, batches: Iterable[bytes]) -> None:
        """Have a partition's leader append batches, as any producer may."""
        self.run(self.nodes.topics[name].partitions[number].append(b"".join(batches)))

    def commit(self, group_id: str, offsets: Mapping[tuple[str, int], int]) -> None:
        """Commit offsets for a group without members."""
        codes = self.run(GroupCalls(self.nodes, group_id).commit(offsets))
        assert set(codes) == {"NONE"}

    def join(self, group_id: str, topic: str) -> None:
        """Have a member by hand own all partitions of a topic, and say nothing from then on."""
        member = HandMember(GroupCalls(self.nodes, group_id), "hand", topic)
        count = len(self.nodes.image.topics[topic].partitions)

        async def join() -> None:
            while len(member.owned) < count:
                await member.ask()
            await member.ask()

        self.run(join())

    def delete_before(self, name: str, number: int, offset: int) -> None:
        """Delete the records of a partition below an offset."""
        self.run(self.nodes.topics[name].partitions[number].delete_before(offset))

    def kill(self, node_id: int) -> None:
        """End a broker's process, and wait until the controller has fenced it."""

        async def kill() -> None:
            self.nodes.kill(node_id)
            await self.nodes.fenced(node_id)

        self.run(kill())

    def values(self, name: str) -> list[list[bytes | None]]:
        """Values in each partition of a topic."""

        async def found() -> list[list[bytes | None]]:
            return self.nodes.values(name)

        return self.run(found())

    def records(self, name: str, number: int = 0) -> list[Record]:
        """Records of a partition."""

        async def found() -> list[Record]:
            return self.nodes.topics[name].partitions[number].records()

        return self.run(found())

    def requests(self, method: str) -> list[Any]:  # of every type
        """Requests of a method that clients sent, in order."""
        return self.nodes.requests(method)

    def damage(self, name: str, number: int, base_offset: int) -> None:
        """Have each answer to a fetch hold a batch whose CRC does not fit it."""

        def spoil(method: str, answer: Any) -> None:  # of every type
            for result in answer.partitions if method == "Fetch" else ():
                is_ours = (result.topic, result.partition) == (name, number)
                for header, batch in iter_batches(result.records) if is_ours else ():
                    if header.base_offset == base_offset:
                        damaged = bytes(batch[:-1]) + b"?"
                        result.records = result.records.replace(batch, damaged)

        self.nodes.spoil = spoil

    def cut_off(self) -> None:
        """Have clients reach no broker."""
        self.nodes.cut_off.update(self.nodes.hosts)

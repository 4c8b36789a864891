"""DeleteRecords by the workload's admin, into the history. Judges nothing."""

from __future__ import annotations

from collections.abc import Callable

from tidelog.chaos.workloads.workload_port import WorkloadPort
from tidelog.client import TopicPartition
from tidelog.client.admin import Admin
from tidelog.client.errors import TidelogError
from tidelog.core.chance import SeededRandom
from tidelog.history.history import Deletion

PROCESS = "admin"


class RecordDeleter:
    """Deletes some of what a partition holds; what failed may have been done nevertheless."""

    def __init__(
        self,
        port: WorkloadPort,
        admin: Admin,
        random: SeededRandom,
        next_number: Callable[[], int],
    ) -> None:
        self._port = port
        self._admin = admin
        self._random = random
        self._next_number = next_number

    async def delete_some(self, tp: TopicPartition, incarnation: int) -> None:
        """Delete below a drawn offset up to the high watermark. Raises `TidelogError`."""
        found = (await self._admin.list_offsets([tp], at="latest"))[tp]
        if isinstance(found, TidelogError):
            raise found
        deletion = Deletion(
            process=PROCESS,
            number=self._next_number(),
            topic=tp.topic,
            incarnation=incarnation,
            partition=tp.partition,
            before=self._random.randrange(0, found.offset + 1),
            invoked_s=self._port.now_s,
            outcome="unknown",
        )
        try:
            await self._delete(tp, deletion)
        finally:
            deletion.ended_s = self._port.now_s
            self._port.end_deletion(deletion)

    async def _delete(self, tp: TopicPartition, deletion: Deletion) -> None:
        self._port.note(PROCESS, f"deletes {tp.topic}-{tp.partition} below {deletion.before}")
        try:
            answer = (await self._admin.delete_records({tp: deletion.before}))[tp]
        except TidelogError as error:
            answer = error
        if isinstance(answer, TidelogError):
            deletion.reason = str(answer)
            raise answer
        deletion.outcome, deletion.offset = "ok", answer
        self._port.count_event("deletions")

"""Tasks whose order in a set does not depend on their address, and what a pending one waits for."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from types import CodeType, FrameType
from typing import Any, TypeVar

T_co = TypeVar("T_co", covariant=True)


class SimTask(asyncio.Task[T_co]):
    """A task hashed by its number: `TaskGroup` and `asyncio.wait` go through sets of tasks."""

    def __init__(
        self, coro: Coroutine[Any, Any, T_co], *, number: int, **options: Any
    ) -> None:  # options are asyncio.Task's own
        self._number = number
        super().__init__(coro, **options)

    def __hash__(self) -> int:
        return self._number


def describe_tasks(tasks: Iterable[asyncio.Task[Any]]) -> list[str]:
    """A line a pending task: its name and the calls it is suspended in, outermost first."""
    return [f"  {task.get_name()}: {_awaiting(task)}" for task in tasks if not task.done()]


def _awaiting(task: asyncio.Task[Any]) -> str:
    names: list[str] = []
    place = ""
    awaited: object = task.get_coro()
    while awaited is not None:
        code, frame, inner = _suspended(awaited)
        if code is not None:
            names.append(code.co_qualname)
        if frame is not None:
            place = f"{frame.f_code.co_filename.rsplit('/', 1)[-1]}:{frame.f_lineno}"
        awaited = inner
    return f"{' > '.join(names)} at {place}"


def suspended_frames(task: asyncio.Task[Any]) -> list[FrameType]:
    """Frames that a pending task is suspended in, outermost first."""
    frames: list[FrameType] = []
    awaited: object = task.get_coro()
    while awaited is not None:
        _, frame, awaited = _suspended(awaited)
        if frame is not None:
            frames.append(frame)
    return frames


def _suspended(awaited: object) -> tuple[CodeType | None, FrameType | None, object]:
    for kind in ("cr", "ag", "gi"):
        if hasattr(awaited, f"{kind}_code"):
            inner = getattr(awaited, "gi_yieldfrom" if kind == "gi" else f"{kind}_await")
            return getattr(awaited, f"{kind}_code"), getattr(awaited, f"{kind}_frame"), inner
    return None, None, None

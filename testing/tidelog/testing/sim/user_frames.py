"""Frames of the user's code, among those of Tidelog and of Python's library."""

from __future__ import annotations

import asyncio
import contextlib
from functools import cache
from pathlib import Path
from types import CodeType, FrameType, TracebackType
from typing import Any

import tidelog.client
import tidelog.core
import tidelog.net
import tidelog.simulation
from tidelog.simulation.engine.tasks import suspended_frames

_PACKAGES = (asyncio, tidelog.client, tidelog.core, tidelog.net, tidelog.simulation)
_NOT_THE_USERS = (
    str(Path(__file__).parents[1]),
    *(str(Path(package.__path__[0])) for package in _PACKAGES),
)


@cache
def _is_of_user(code: CodeType) -> bool:
    file = code.co_filename
    return not (file.startswith(_NOT_THE_USERS) or file in (contextlib.__file__, "<string>"))


def is_of_user(task: asyncio.Task[Any]) -> bool:
    """True if the task runs the user's code, and not a client's alone."""
    return any(_is_of_user(frame.f_code) for frame in suspended_frames(task))


def user_place(task: asyncio.Task[Any]) -> str:
    """The innermost line of the user's code that a pending task is suspended in."""
    frames = suspended_frames(task)
    own = [frame for frame in frames if _is_of_user(frame.f_code)]
    return _place((own or frames)[-1]) if frames else "its first line"


def users_traceback(error: BaseException) -> TracebackType | None:
    """The error's traceback from the first frame of the user's code on; None: it has none."""
    traceback = error.__traceback__
    while traceback is not None and not _is_of_user(traceback.tb_frame.f_code):
        traceback = traceback.tb_next
    return traceback


def _place(frame: FrameType) -> str:
    code = frame.f_code
    return f"{code.co_qualname} ({Path(code.co_filename).name}:{frame.f_lineno})"

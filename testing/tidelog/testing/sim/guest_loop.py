"""Event loop of the user's code in a simulation: what asyncio's programs use, and no more."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar, TypeVarTuple

from tidelog.simulation.engine.loop import NodeLoop, refuse_the_rest
from tidelog.testing.sim.errors import OutsideSimulationError

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
ExceptionHandler = Callable[[asyncio.AbstractEventLoop, dict[str, Any]], object]


@refuse_the_rest(
    "a simulated test reaches nothing but Tidelog's brokers, by its async clients; give the code a "
    "stand-in for whatever else it calls",
    OutsideSimulationError,
)
class GuestLoop(NodeLoop):
    """Functions for other threads run at once, in order; signals come from `stop` alone."""

    def __init__(self, **parts: Any) -> None:  # those of NodeLoop
        super().__init__(**parts)
        self.signal_handlers: dict[int, asyncio.Handle] = {}
        """Handlers of the process; `SimulatedProcess.stop` calls that of SIGTERM."""
        self._exception_handler: ExceptionHandler | None = None

    def run_in_executor(
        self, executor: object, func: Callable[[*Ts], T], *args: *Ts
    ) -> asyncio.Future[T]:
        """Call `func` now: a thread would run at moments that no seed decides."""
        del executor
        future: asyncio.Future[T] = self.create_future()
        try:
            future.set_result(func(*args))
        except StopIteration as error:
            future.set_exception(RuntimeError(f"the function raised {error!r}"))
        except BaseException as error:  # noqa: BLE001  # the future's, as of a thread
            future.set_exception(error)
        return future

    def call_soon_threadsafe(
        self, callback: Callable[[*Ts], object], *args: *Ts, **options: Any
    ) -> asyncio.Handle:
        """There is one thread."""
        return self.call_soon(callback, *args, **options)

    def add_signal_handler(self, sig: int, callback: Callable[[*Ts], object], *args: *Ts) -> None:
        """Keep it for `SimulatedProcess.stop`."""
        self.signal_handlers[sig] = asyncio.Handle(callback, args, self)

    def remove_signal_handler(self, sig: int) -> bool:
        """See asyncio."""
        return self.signal_handlers.pop(sig, None) is not None

    def set_default_executor(self, executor: Any) -> None:
        """It is never used."""

    async def shutdown_asyncgens(self) -> None:
        """Nothing: each generator is closed as it is forgotten."""

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:
        """Nothing: there is none."""

    def set_debug(self, enabled: bool) -> None:  # noqa: FBT001  # asyncio's signature
        """Nothing: asyncio's debug mode reads the real clock."""

    def set_exception_handler(self, handler: ExceptionHandler | None) -> None:
        """See asyncio."""
        self._exception_handler = handler

    def get_exception_handler(self) -> ExceptionHandler | None:
        """See asyncio."""
        return self._exception_handler

    def get_task_factory(self) -> None:
        """Tell asyncio that there is none."""

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Call the user's; without one, an error that nobody handled fails the seed."""
        if self._exception_handler is not None and not self.is_dead:
            self._exception_handler(self, context)
        else:
            super().call_exception_handler(context)

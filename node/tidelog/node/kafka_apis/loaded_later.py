"""Handlers of APIs that many nodes never serve, loaded at their first request.

An API's messages are generated and long: all of them together would be a fourth of what a node
imports before it is ready.
"""

from __future__ import annotations

from importlib import import_module

from tidelog.kafka.message import Message
from tidelog.node.kafka_apis.served import ApiCall, ApiHandler


class LoadedLater:
    """Handler of the class `name` in a module of this package, made of `ports`."""

    def __init__(self, module: str, name: str, *ports: object) -> None:
        self._module = module
        self._name = name
        self._ports = ports
        self._handler: ApiHandler | None = None

    async def __call__(self, request: Message, call: ApiCall) -> Message | None:
        """See `ApiHandler`."""
        return await self.load()(request, call)

    def load(self) -> ApiHandler:
        """Return the handler, imported when first asked for."""
        if self._handler is None:
            module = import_module(f"tidelog.node.kafka_apis.{self._module}")
            self._handler = getattr(module, self._name)(*self._ports)
        return self._handler

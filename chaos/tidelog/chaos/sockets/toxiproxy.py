"""A Toxiproxy server of the run's own, and the calls of its HTTP API: the only file that knows it.

The client library keeps the server's address in its class, waits without a limit by default,
takes an error of the server (status 500) for an answer, and fills a server proxy by proxy. So every
call here goes through its `APIConsumer` with the address set just before, a limit, and a look at
the answer. A call blocks the event loop for the 3 ms it takes: 12 links are made toxic in 37 ms,
and others run in between.

What Toxiproxy 2.12 does, measured:
- it counts the bytes of a connection when that ends, not before;
- it accepts on behalf of a node that is down, and closes at once;
- a `timeout` toxic with timeout 0 swallows what comes, keeps the connection, accepts new ones, and
  closes them all when it is taken off;
- a `latency` toxic that is taken off passes on at once what it held;
- a proxy that is disabled closes its connections and refuses new ones;
- every change of a proxy waits for the piece that it is passing on: when the receiver has stopped
  reading and 4 to 8 MB lie in between, the change hangs until it reads on, and for good if it ends
  instead. gRPC's flow control stops far below that; a bare socket does not.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import sys
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from prometheus_client.parser import text_string_to_metric_families

from tidelog.chaos.faults.proxies import ProxyToxic
from tidelog.chaos.sockets.child import Child
from tidelog.core.errors import TidelogError
from tidelog.net.quiet_ports import HOST, quiet_ports
from tidelog.node.last_words import last_words

CALL_S_MAX = 2.0
START_S_MAX = 10.0
INSTALL_S_MAX = 600.0
POLL_S = 0.02
NAME = "toxiproxy-server"
_CHECKOUT = Path(__file__).resolve().parents[4]


class ProxyError(TidelogError):
    """The proxy server refused an order. The message names the proxy and its answer."""


class NoSuchToxicError(ProxyError):
    """The proxy does not have the toxic."""


class Toxiproxy:
    """A running server; `start` makes one, its caller ends `child`."""

    def __init__(self, child: Child, port: int) -> None:
        self.child = child
        self._port = port

    @classmethod
    async def start(cls, folder: Path, environment: Mapping[str, str]) -> Toxiproxy:
        """Start it on a free port; its log is `toxiproxy.log` in the folder.

        Errors: `ProxyError` when there is none to start, or it does not answer; or the library
        that calls it is not installed.
        """
        _require_library()
        program = await _program(folder, environment)
        (port,) = quiet_ports(1)
        log_path = folder / "toxiproxy.log"
        command = [str(program), "-host", HOST, "-port", str(port), "-proxy-metrics"]
        child = Child.spawn(command, folder=folder, log_path=log_path, environment=environment)
        server = cls(child, port)
        await server._until_up(log_path)
        return server

    async def populate(self, proxies: Iterable[tuple[str, str, str]]) -> None:
        """Make all proxies: their names, addresses to listen on, and addresses to dial."""
        values = [
            {"name": name, "listen": listen, "upstream": upstream, "enabled": True}
            for name, listen, upstream in proxies
        ]
        await self._call("all proxies", "post", "/populate", json=values)

    async def add(self, name: str, toxic: ProxyToxic) -> None:
        """Add a toxic to a proxy. Errors: `ProxyError`; it has one of this kind and stream."""
        values = {
            "name": _toxic_name(toxic),
            "type": toxic.kind,
            "stream": toxic.stream,
            "toxicity": toxic.toxicity,
            "attributes": dict(toxic.attributes),
        }
        await self._call(name, "post", f"/proxies/{name}/toxics", json=values)

    async def remove(self, name: str, toxic: ProxyToxic) -> None:
        """Take a toxic off; nothing happens when the proxy does not have it."""
        url = f"/proxies/{name}/toxics/{_toxic_name(toxic)}"
        with contextlib.suppress(NoSuchToxicError):
            await self._call(name, "delete", url)

    async def enable(self, name: str, *, is_enabled: bool) -> None:
        """Let a proxy listen, or close everything it has."""
        values = {"enabled": is_enabled}
        await self._call(name, "post", f"/proxies/{name}", json=values)

    async def reset(self) -> None:
        """No toxics, everything enabled."""
        await self._call("all proxies", "post", "/reset")

    async def bytes_carried(self) -> Mapping[str, tuple[int, int]]:
        """Bytes of connections that have ended, upstream and downstream; without any: no entry."""
        answer = await self._call("all proxies", "get", "/metrics")
        carried: dict[str, dict[str, int]] = {}
        for family in text_string_to_metric_families(answer.text):
            for sample in family.samples:
                if sample.name == "toxiproxy_proxy_sent_bytes_total":
                    of_proxy = carried.setdefault(sample.labels["proxy"], {})
                    of_proxy[sample.labels["direction"]] = int(sample.value)
        return {
            name: (one.get("upstream", 0), one.get("downstream", 0))
            for name, one in carried.items()
        }

    async def _until_up(self, log_path: Path) -> None:
        try:
            async with asyncio.timeout(START_S_MAX):
                while not await self._is_up():
                    if not self.child.is_running:
                        raise ProxyError(f"{NAME} ended: {last_words(log_path)}")
                    await asyncio.sleep(POLL_S)
        except TimeoutError:
            raise ProxyError(f"{NAME} does not answer after {START_S_MAX:g} s") from None

    async def _is_up(self) -> bool:
        try:
            await self._call("the server", "get", "/version")
        except ProxyError:
            return False
        return True

    async def _call(
        self, whom: str, method: Literal["get", "post", "delete"], url: str, **values: object
    ) -> Any:  # a response of `requests`, which has no types
        # Imported late: the command line lists scenarios without the extra tidelog[chaos].
        from toxiproxy.api import APIConsumer
        from toxiproxy.exceptions import InvalidToxic, NotFound, ProxyExists

        await asyncio.sleep(0)
        APIConsumer.host, APIConsumer.port = HOST, self._port
        try:
            answer = getattr(APIConsumer, method)(url, timeout=CALL_S_MAX, **values)
        except NotFound as error:
            kind = NoSuchToxicError if b"toxic not found" in error.args[0] else ProxyError
            raise kind(_error_text(whom, url, error)) from None
        except (ProxyExists, InvalidToxic, OSError) as error:  # what `requests` raises is OSErrors
            raise ProxyError(_error_text(whom, url, error)) from None
        if not answer.ok:
            raise ProxyError(_error_text(whom, url, answer.text))
        return answer


def _require_library() -> None:
    if find_spec("toxiproxy") is None:
        raise ProxyError(
            "toxiproxy-python is not installed: pip install 'tidelog[chaos]' "
            "(in a checkout: make setup)"
        )


def _error_text(whom: str, url: str, what: object) -> str:
    said = what.args[0] if isinstance(what, Exception) and what.args else what
    text = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
    return f"Toxiproxy, asked for {whom} ({url}): {text.strip()}"


def _toxic_name(toxic: ProxyToxic) -> str:
    return f"{toxic.kind}_{toxic.stream}"


async def _program(folder: Path, environment: Mapping[str, str]) -> Path:
    """The server's program, built first when the checkout has none."""
    ours = _CHECKOUT / ".tools" / "bin" / NAME
    if ours.exists():
        return ours
    installer = _CHECKOUT / "tools" / "toxiproxy.sh"
    if not installer.exists():
        found = shutil.which(NAME)
        if found is None:
            raise ProxyError(
                f"{NAME} is not on PATH: install it from https://github.com/Shopify/toxiproxy"
                f" under this name, or run from a checkout, which builds it"
            )
        return Path(found)
    sys.stderr.write(f"building {NAME} by {installer} (once, it takes a minute)\n")
    log_path = folder / "toxiproxy-build.log"
    build = Child.spawn(
        [str(installer)], folder=_CHECKOUT, log_path=log_path, environment=environment
    )
    if not await build.wait_ended(within_s=INSTALL_S_MAX) or not ours.exists():
        raise ProxyError(f"{installer} did not build {NAME}: {last_words(log_path)}")
    return ours

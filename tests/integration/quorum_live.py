"""The controller quorum with real processes: kill -9, SIGSTOP and damaged files, under load.

    python -m tests.integration.quorum_live --kill-rounds 100 --pause-rounds 30 --damage-rounds 10

Three nodes on loopback, each controller and broker (`--roles separate`: three controllers and a
broker), in a temporary folder. Clients make acknowledged changes and read what controllers decide
all the while. The last line is one JSON object; exit 1 when anything happened that must never, or
something did not come in time; then the folder stays.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from tests.integration.live_clients import Reader, Writer
from tests.integration.live_damage import DAMAGES, Damages
from tests.integration.live_end import check_end
from tests.integration.live_history import History
from tests.integration.live_nodes import LiveNode
from tests.integration.live_quorum import LiveQuorum, TooLateError
from tests.integration.live_rounds import KILLS, PAUSES, Rounds

from tidelog.net.quiet_ports import quiet_ports

WRITERS = 3
COMBINED = {1: ["broker", "controller"], 2: ["broker", "controller"], 3: ["broker", "controller"]}
SEPARATE = {1: ["controller"], 2: ["controller"], 3: ["controller"], 4: ["broker"]}


class LiveRun:
    """One run from start to the end's comparison."""

    def __init__(self, folder: Path, *, roles: Mapping[int, list[str]], seed: int) -> None:
        ports = quiet_ports(len(roles))
        addresses = {n: f"127.0.0.1:{port}" for n, port in zip(roles, ports, strict=True)}
        voters = {n: addresses[n] for n in roles if "controller" in roles[n]}
        # Snapshots often, so that a voter with a new disk needs one.
        settings = {
            "metadata.log.max.record.bytes.between.snapshots": 1 << 16,
            "metadata.log.reserve.bytes": 1 << 20,
        }
        self._nodes = [
            LiveNode(
                node_id,
                roles=roles[node_id],
                address=addresses[node_id],
                voters=voters,
                folder=folder,
                settings=settings,
            )
            for node_id in roles
        ]
        self._history = History()
        self._quorum = LiveQuorum(self._nodes, self._history)
        self._rounds = Rounds(self._quorum, seed=seed)
        self._damages = Damages(self._quorum, seed=seed)
        self._end: Mapping[str, Any] = {}

    async def run(self, *, kills: int, pauses: int, damages: int) -> dict[str, Any]:
        """All rounds, then the end; what came of it."""
        began_s = time.monotonic()
        try:
            for node in self._nodes:
                node.start()
            await self._quorum.until_ready()
            await self._under_load(kills=kills, pauses=pauses, damages=damages)
            self._end = await check_end(self._quorum)
        except (TooLateError, OSError, AssertionError) as error:
            self._history.violation(f"{type(error).__name__}: {error}")
        finally:
            for node in self._nodes:
                node.end()
            await self._rounds.close()
            await self._quorum.transport.close()
        return self._result(seconds=time.monotonic() - began_s)

    async def _under_load(self, *, kills: int, pauses: int, damages: int) -> None:
        stopping = asyncio.Event()
        bootstrap = [node.address for node in self._nodes if node.is_broker]
        clients: list[Writer | Reader] = [
            Writer(number, bootstrap=bootstrap, history=self._history) for number in range(WRITERS)
        ]
        clients.append(Reader(self._quorum.voters, self._history))
        load = [asyncio.create_task(client.run(stopping)) for client in clients]
        faults = asyncio.create_task(self._all_rounds(kills, pauses, damages))
        await asyncio.wait([*load, faults], return_when=asyncio.FIRST_COMPLETED)
        stopping.set()
        if not faults.done():  # a client broke
            faults.cancel()
        await asyncio.gather(*load, faults)

    async def _all_rounds(self, kills: int, pauses: int, damages: int) -> None:
        """The kinds mixed, so that one's traces meet the other."""
        rounds = [
            *_spread(("kill", kind) for kind in islice(cycle(KILLS), kills)),
            *_spread(("pause", kind) for kind in islice(cycle(PAUSES), pauses)),
            *_spread(("damage", kind) for kind in islice(cycle(DAMAGES), damages)),
        ]
        for number, (_, what, kind) in enumerate(sorted(rounds), start=1):
            began_s = time.monotonic()
            match what:
                case "kill":
                    await self._rounds.kill(kind)
                case "pause":
                    await self._rounds.pause(kind)
                case _:
                    await self._damages.round(kind)
            _print_line(f"{number}/{len(rounds)} {what} {kind}: {time.monotonic() - began_s:.1f} s")
            if self._history.violations:
                return

    def _result(self, *, seconds: float) -> dict[str, Any]:
        history, wals = self._history, self._quorum.wals
        failovers = sorted(self._rounds.failover_s)
        return {
            "seconds": round(seconds),
            "rounds": dict(self._rounds.counts + self._damages.counts),
            "asked_while_paused": dict(self._rounds.answers),
            "acknowledged": {
                kind: history.counts[kind] for kind in ("creates", "alters", "deletes")
            },
            "commands_without_answer": history.counts["commands_without_answer"],
            "linearizable_reads": history.counts["linearizable_reads"],
            "decisions": history.counts["decisions"],
            "terms_led": len(history.leaders),
            "last_term": max(history.leaders, default=0),
            "votes": wals.votes,
            "committed_entries": wals.committed_entries,
            "entries_not_seen": wals.entries_not_seen,
            "snapshots_installed": wals.snapshots_installed,
            "failover_s_median": round(statistics.median(failovers), 2) if failovers else None,
            "failover_s_max": round(failovers[-1], 2) if failovers else None,
            "refusals": self._damages.refusals[:2],
            **self._end,
            "violations": history.violations,
        }


def _spread(kinds: Any) -> list[tuple[float, str, str]]:  # pairs of what and kind
    """Each with its place in the run, from 0 to 1."""
    listed = list(kinds)
    return [((at + 0.5) / len(listed), *pair) for at, pair in enumerate(listed)]


def _print_line(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


def main() -> int:
    """Run as told on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kill-rounds", type=int, default=100)
    parser.add_argument("--pause-rounds", type=int, default=30)
    parser.add_argument("--damage-rounds", type=int, default=10)
    parser.add_argument("--roles", choices=["combined", "separate"], default="combined")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="quorum-live-"))
    run = LiveRun(
        folder, roles=COMBINED if options.roles == "combined" else SEPARATE, seed=options.seed
    )
    result = asyncio.run(
        run.run(
            kills=options.kill_rounds, pauses=options.pause_rounds, damages=options.damage_rounds
        )
    )
    sys.stdout.write(json.dumps(result) + "\n")
    if result["violations"]:
        _print_line(f"see {folder}")
        return 1
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The language of the golden traces in `tests/testdata/raft`, after that of etcd's raft.

A trace is a text of blocks, parted by empty lines: commands, a line `----`, and what they must
print. `#` begins a comment. A rewrite puts there what they print now; a person reads the diff:

    python -m tests.raft.raft_trace --rewrite [file …]

    engines NAME…                 which engines play this trace; the second one's messages differ,
                                  so that of its output only that of `state` counts
    config SETTING=VALUE…         changes of RaftConfig
    cluster N                     N voters with empty disks
    voters N                      N voters of an empty cluster that were started before, running
    given N term=T [vote=V] [log=T:x,T:y]    before `start`: a voter that was in use (x `-`: no-op)
    start [N…]                    their processes, all by default
    tick MS [N…]                  moves their clocks, all by default, and steps each of them
    campaign N                    moves only this voter's clock past every election time-out
    lead N                        that, and all that comes of it, quietly
    propose N x y … · read N      asks a voter
    deliver [FILTER…]             what is in flight now: one step for each receiver
    stabilize [FILTER…]           delivers until nothing is in flight
    drop|twice|reverse [FILTER…]  loses, doubles, turns around what is in flight
    hold NAME [FILTER…] · release NAME    keeps messages back, puts them behind all others
    disconnect|connect A B · cut|mend A>B · isolate|return A    `cut` loses silently, one way
    crash N · restart N · wipe N  power off, on; a new disk
    snapshot N                    of all that is applied; the log keeps `retained_entries`
    state [N…]                    leader, term, commit index and log of each

    forget N                      what is applied deletes the whole state

A FILTER is from=N, to=N, kind=KIND, after=INDEX (an append's) or
with=entries. `quiet` before a command keeps all but state changes back.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.raft.raft_stage import Happened, Stage
from tests.virtual_loop import run_virtual

from tidelog.core.errors import TidelogError
from tidelog.raft.config import RaftConfig
from tidelog.raft.durable_state import NO_OP, REGULAR
from tidelog.raft.engine import Leadership
from tidelog.raft.wal import Wal
from tidelog.v1.raft_pb2 import LogEntry, RaftMessage

FOLDER = Path(__file__).parents[1] / "testdata" / "raft"
CONFIG = RaftConfig(
    election_timeout_min_ms=300,
    election_timeout_max_ms=600,
    retained_entries=1,
    wal_reserve_bytes=16_384,
    snapshot_interval_bytes=8_192,
)
ROUNDS_MAX = 60


@dataclass(slots=True)
class Block:
    """Commands with their comments as written, and what they must print."""

    lines: list[str]
    expected: list[str]

    @property
    def commands(self) -> list[list[str]]:
        return [line.split() for line in self.lines if not line.startswith("#")]

    @property
    def is_state(self) -> bool:
        return [command[:1] for command in self.commands] == [["state"]]


def parse(text: str) -> list[Block]:
    """The blocks of a trace; a block without `----` prints nothing."""
    blocks = []
    for part in text.strip().split("\n\n"):
        head, _, tail = part.partition("\n----")
        blocks.append(Block(head.strip().split("\n"), tail.strip("\n").split("\n") if tail else []))
    return blocks


def engines_of(blocks: Iterable[Block]) -> list[str]:
    """Which engines play these blocks."""
    commands = (command for block in blocks for command in block.commands)
    return next(command[1:] for command in commands if command[0] == "engines")


async def play(blocks: Iterable[Block], *, engine: str) -> list[list[str]]:
    """What each block prints."""
    player = Player(engine)
    return [await player.run(block.commands) for block in blocks]


def render(blocks: Iterable[Block], outputs: Iterable[list[str]]) -> str:
    """The text of a trace."""
    parts = [
        "\n".join([*block.lines, *(["----", *output] if output else [])])
        for block, output in zip(blocks, outputs, strict=True)
    ]
    return "\n\n".join(parts) + "\n"


class Player:
    """Runs commands on a stage and writes down what comes of them."""

    def __init__(self, engine: str) -> None:
        self._stage = Stage(engine=engine, config=replace(CONFIG, engine=engine))
        self._held: dict[str, list[RaftMessage]] = {}
        self._leaderships: dict[int, Leadership] = {}
        self._reads: dict[int, set[int]] = {}
        self._read_id = 0
        self._output: list[str] = []
        self._is_quiet = False

    async def run(self, commands: Iterable[list[str]]) -> list[str]:
        """Run the commands of one block."""
        self._output = []
        for name, *arguments in commands:
            self._is_quiet = name == "quiet"
            if self._is_quiet:
                name, *arguments = arguments
            method: Callable[..., Any] = getattr(self, f"do_{name}")
            try:
                result = method(*arguments)
                if result is not None:
                    await result
            except TidelogError as error:
                self._output.append(f"{name} {' '.join(arguments)} ends in {error}")
        return self._output

    # Making voters

    def do_engines(self, *names: str) -> None:
        """Read by the caller."""

    def do_config(self, *settings: str) -> None:
        values: dict[str, Any] = {name: int(value) for name, value in map(_pair, settings)}
        self._stage.config = replace(self._stage.config, **values)

    async def do_cluster(self, count: str) -> None:
        self._stage.add(int(count))

    async def do_voters(self, count: str) -> None:
        await self.do_cluster(count)
        for node_id in self._chosen(()):
            await self.do_given(str(node_id), "term=0")
        await self.do_start()
        self._output.clear()

    async def do_given(self, node: str, *settings: str) -> None:
        values = dict(map(_pair, settings))
        storage = await self._stage.open(int(node))
        wal = storage.wal
        wal.write_rejoined()
        for item in filter(None, values.get("log", "").split(",")):
            term, _, command = item.partition(":")
            body = NO_OP if command == "-" else REGULAR + command.encode()
            wal.write_entry(body, index=wal.last_index + 1, term=int(term))
        vote = values.get("vote")
        wal.write_vote(term=int(values["term"]), voted_for=int(vote) if vote else None)
        await wal.sync()
        storage.close()

    async def do_start(self, *nodes: str) -> None:
        for node_id in self._chosen(nodes):
            await self._stage.start(node_id)
        for node_id in self._chosen(nodes):
            self._print_steps(await self._stage.step(node_id))

    # Time and callers

    async def do_tick(self, duration_ms: str, *nodes: str) -> None:
        for node_id in self._chosen(nodes):
            machine = self._stage.machines[node_id]
            machine.now_s = round(machine.now_s + int(duration_ms) / 1000, 6)
            if machine.is_running:
                self._print_steps(await self._stage.step(node_id))

    async def do_campaign(self, node: str) -> None:
        await self.do_tick("601", node)

    async def do_lead(self, node: str) -> None:
        self._is_quiet = True
        await self.do_campaign(node)
        await self.do_stabilize()

    async def do_propose(self, node: str, *commands: str) -> None:
        proposals = [command.encode() for command in commands]
        self._print_steps(await self._stage.step(int(node), proposals=proposals))

    async def do_read(self, node: str) -> None:
        self._read_id += 1
        self._reads.setdefault(int(node), set()).add(self._read_id)
        self._print_steps(await self._stage.step(int(node), reads=[self._read_id]))

    # Messages

    async def do_deliver(self, *filters: str) -> None:
        self._print_steps(await self._stage.deliver(self._take(filters)))

    async def do_stabilize(self, *filters: str) -> None:
        for _ in range(ROUNDS_MAX):
            messages = self._take(filters)
            if not messages:
                return
            self._print_steps(await self._stage.deliver(messages))
        self._print(f"not stable after {ROUNDS_MAX} rounds")

    def do_drop(self, *filters: str) -> None:
        for message in self._take(filters):
            self._print(f"lost {describe(message)}")

    def do_twice(self, *filters: str) -> None:
        messages = self._take(filters)
        self._stage.in_flight += [*messages, *messages]

    def do_reverse(self, *filters: str) -> None:
        self._stage.in_flight += reversed(self._take(filters))

    def do_hold(self, name: str, *filters: str) -> None:
        self._held.setdefault(name, []).extend(self._take(filters))

    def do_release(self, name: str) -> None:
        self._stage.in_flight += self._held.pop(name)

    def do_disconnect(self, one: str, other: str) -> None:
        self._stage.disconnected.add(frozenset((int(one), int(other))))

    def do_connect(self, one: str, other: str) -> None:
        self._stage.disconnected.discard(frozenset((int(one), int(other))))

    def do_cut(self, *ways: str) -> None:
        self._stage.cut |= set(map(_way, ways))

    def do_mend(self, *ways: str) -> None:
        self._stage.cut -= set(map(_way, ways))

    def do_isolate(self, node: str) -> None:
        self._stage.cut |= self._ways_of(int(node))

    def do_return(self, node: str) -> None:
        self._stage.cut -= self._ways_of(int(node))

    # Storage

    def do_crash(self, node: str) -> None:
        self._stage.stop(int(node))
        self._leaderships.pop(int(node), None)
        self._reads.pop(int(node), None)

    async def do_restart(self, node: str) -> None:
        await self.do_start(node)

    def do_wipe(self, node: str) -> None:
        self._stage.wipe(int(node))
        self._leaderships.pop(int(node), None)

    async def do_snapshot(self, node: str) -> None:
        snapshot = await self._stage.write_snapshot(int(node))
        self._print(f"{node} keeps snapshot {snapshot.index}/{snapshot.term}")

    def do_forget(self, node: str) -> None:
        self._stage.machines[int(node)].applied.clear()

    async def do_state(self, *nodes: str) -> None:
        for node_id in self._chosen(nodes):
            if not self._stage.machines[node_id].is_running:
                self._output.append(f"{node_id}: off")
                continue
            (step,) = await self._stage.step(node_id)
            self._output.append(self._state(step))

    def _state(self, step: Happened) -> str:
        leadership = step.ready.leadership
        _, storage, _ = self._stage.running(step.node_id)
        return (
            f"{step.node_id}: leader={leadership.leader_id or '-'} term={leadership.term} "
            f"commit={step.ready.commit_index} log={' '.join(_log(storage.wal))}"
        ).rstrip()

    # What is printed

    def _print_steps(self, steps: Iterable[Happened]) -> None:
        for step in steps:
            self._print_leadership(step)
            restored = step.ready.restored
            if restored is not None:
                self._print(f"{step.node_id} restores {restored.index}/{restored.term}")
            applied = [
                f"{e.index}/{e.term} {e.command.decode() if e.command else '-'}"
                for e in step.ready.committed
            ]
            if applied:
                self._print(f"{step.node_id} applies {', '.join(applied)}")
            self._print_reads(step)
            for message in (*step.ready.at_once, *step.ready.messages):
                self._print(describe(message))

    def _print_leadership(self, step: Happened) -> None:
        leadership = step.ready.leadership
        if self._leaderships.get(step.node_id) != leadership:
            self._leaderships[step.node_id] = leadership
            self._output.append(
                f"{step.node_id} is {leadership.role} in term {leadership.term}, "
                f"leader {leadership.leader_id or 'unknown'}"
            )

    def _print_reads(self, step: Happened) -> None:
        waiting = self._reads.get(step.node_id, set())
        for read in step.ready.reads:
            waiting.discard(read.read_id)
            self._output.append(f"{step.node_id} answers read {read.read_id} at {read.index}")
        if waiting and step.ready.leadership.own_term_index is None:
            self._output += [f"{step.node_id} refuses read {read}" for read in sorted(waiting)]
            waiting.clear()

    def _print(self, line: str) -> None:
        if not self._is_quiet:
            self._output.append(line)

    # Who and what

    def _chosen(self, nodes: Iterable[str]) -> list[int]:
        return [int(node) for node in nodes] or sorted(self._stage.machines)

    def _ways_of(self, node_id: int) -> set[tuple[int, int]]:
        peers = self._stage.machines.keys() - {node_id}
        return {(node_id, peer) for peer in peers} | {(peer, node_id) for peer in peers}

    def _take(self, filters: Iterable[str]) -> list[RaftMessage]:
        """Take out of the flight what all filters let pass."""
        wanted = dict(map(_pair, filters))
        taken = [m for m in self._stage.in_flight if _matches(m, wanted)]
        self._stage.in_flight = [m for m in self._stage.in_flight if not _matches(m, wanted)]
        return taken


def describe(message: RaftMessage) -> str:
    """A message as a line; entries and log ends are index/term."""
    return (
        f"{message.sender_id}>{message.receiver_id} t{message.term} {_kind(message)}"
        f"{_body(message)}"
    )


def _kind(message: RaftMessage) -> str:
    return (message.WhichOneof("body") or "").replace("_", "-")


def _body(message: RaftMessage) -> str:
    match message.WhichOneof("body"):
        case "append_entries":
            a = message.append_entries
            entries = ", ".join(_entries(a.entries, first_index=a.previous_index + 1))
            return (
                f" after {a.previous_index}/{a.previous_term} commit {a.commit_index}"
                f"{_round(a.round)} [{entries}]"
            )
        case "append_entries_reply":
            b = message.append_entries_reply
            what = "holds to" if b.is_success else "wants" if b.is_reset else "-"
            index = b.next_index - 1 if b.is_success else b.next_index
            return f" {what} {index}{_round(b.round)}"
        case "request_vote":
            c = message.request_vote
            return f" log ends {c.last_log_index}/{c.last_log_term}"
        case "pre_vote":
            d = message.pre_vote
            return f" log ends {d.last_log_index}/{d.last_log_term}"
        case "pre_vote_reply":
            e = message.pre_vote_reply
            return f" {'yes' if e.is_granted else 'no'} to term {e.asked_term}"
        case "install_snapshot":
            f = message.install_snapshot
            return (
                f" {f.last_index}/{f.last_term} bytes {f.offset}+{len(f.data)} "
                f"of {f.total_bytes}{_round(f.round)}"
            )
        case "install_snapshot_reply":
            g = message.install_snapshot_reply
            return f" {g.last_index} wants byte {g.next_offset}{_round(g.round)}"
        case "rejoin_reply":
            h = message.rejoin_reply
            return f" last {h.last_index} commit {h.commit_index}"
    return ""


def _round(number: int) -> str:
    return f" round {number}" if number else ""


def _entries(entries: Iterable[LogEntry], *, first_index: int) -> Iterator[str]:
    for index, entry in enumerate(entries, start=first_index):
        yield f"{index}/{entry.term} {_command(entry.command)}"


def _command(command: bytes) -> str:
    return "-" if command[:1] == NO_OP else command[1:].decode()


def _log(wal: Wal) -> Iterator[str]:
    if wal.base_index:
        yield f"({wal.base_index}/{wal.base_term})"
    for entry in wal.entries:
        yield f"{entry.term}:{_command(entry.command)}"


def _matches(message: RaftMessage, wanted: dict[str, str]) -> bool:
    facts = {
        "from": str(message.sender_id),
        "to": str(message.receiver_id),
        "kind": _kind(message),
        "after": str(message.append_entries.previous_index),
        "with": "entries" if message.append_entries.entries else "none",
    }
    return all(facts[name] == value for name, value in wanted.items())


def _pair(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    return name, value


def _way(text: str) -> tuple[int, int]:
    sender, _, receiver = text.partition(">")
    return int(sender), int(receiver)


def main() -> int:
    parser = argparse.ArgumentParser(description="Play golden traces of the Raft engine.")
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--rewrite", action="store_true", help="write what they print now")
    arguments = parser.parse_args()
    for path in arguments.files or sorted(FOLDER.glob("*.txt")):
        blocks = parse(path.read_text())
        text = render(blocks, run_virtual(play(blocks, engine="tidelog")))
        if arguments.rewrite:
            path.write_text(text)
        else:
            sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())

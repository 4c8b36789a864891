"""The synchronous faces: the asyncio classes' arguments, and an end to every wait."""

from __future__ import annotations

import asyncio
import gc
import inspect
import os
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, assert_type

import pytest
from tests.client.real_cluster import BOOTSTRAP
from tests.client.threaded_cluster import ThreadedCluster, threaded_cluster

import tidelog.client
from tidelog.client import Record, RecordMetadata, TopicPartition, errors
from tidelog.client import sync as faces
from tidelog.client.sync import Admin, CallerError, Consumer, LoopThread, Producer

FACES = ("Producer", "Consumer", "Admin")


@pytest.fixture
def cluster() -> Iterator[ThreadedCluster]:
    with threaded_cluster() as cluster:
        yield cluster


def test_cluster_is_written_read_and_managed_without_a_loop(cluster: ThreadedCluster) -> None:
    with Admin(BOOTSTRAP, transport=cluster) as admin:
        assert admin.create_topic("t", partitions=1).name == "t"
        assert_type(admin.list_topics(), list[str])
    with Producer(BOOTSTRAP, transport=cluster) as producer:
        sent = producer.send("t", b"a")
        assert_type(sent, RecordMetadata)
        later = producer.submit("t", value=b"b")
        assert_type(later, Future[RecordMetadata])
        assert (sent.offset, later.result().offset) == (0, 1)
        assert producer.send_many("t", [b"c", b"d"]).acknowledged == 2
    with Consumer(BOOTSTRAP, transport=cluster) as consumer:
        consumer.assign([("t", 0)])
        records = iter(consumer)
        assert_type(records, Iterator[Record])
        assert [next(records).value for _ in range(2)] == [b"a", b"b"]
        assert consumer.position(("t", 0)) == 2
        assert [record.value for record in consumer.getmany(timeout_ms=5_000)] == [b"c", b"d"]
        assert consumer.end_offsets([("t", 0)]) == {TopicPartition("t", 0): 4}


def test_type_checkers_see_the_arguments(cluster: ThreadedCluster) -> None:
    with pytest.raises(TypeError):
        Producer(BOOTSTRAP, akcs=1)  # type: ignore[call-arg]
    with Producer(BOOTSTRAP, transport=cluster) as producer:
        with pytest.raises(TypeError):
            producer.send()  # type: ignore[call-arg]
        with pytest.raises(TypeError):
            producer.send("t", value="text")  # type: ignore[arg-type]


def test_type_checkers_see_what_serializers_take_and_deserializers_return(
    cluster: ThreadedCluster,
) -> None:
    def to_bytes(_topic: str, number: int) -> bytes:
        return b"%d" % number

    def to_int(_topic: str, data: bytes | None) -> int:
        return int(data or b"0")

    with Producer(BOOTSTRAP, transport=cluster, value_serializer=to_bytes) as producer:
        assert_type(producer, Producer[bytes, int])
        producer.send("t", key=b"k", value=5)
        assert producer.send_many("t", [6, 7]).acknowledged == 2
        with pytest.raises(errors.SerializationError):
            producer.send("t", value="text")  # type: ignore[arg-type]
    with Consumer(BOOTSTRAP, transport=cluster, value_deserializer=to_int) as consumer:
        assert_type(consumer, Consumer[bytes | None, int])
        consumer.assign([("t", 0)])
        assert_type(next(iter(consumer)).value, int)
        assert sum(record.value for record in consumer.getmany(timeout_ms=5_000)) == 13


async def test_works_where_a_loop_runs_already(cluster: ThreadedCluster) -> None:
    with Producer(BOOTSTRAP, transport=cluster) as producer:
        assert producer.send("t", value=b"a").offset == 0


def test_arguments_that_are_refused_leave_no_thread() -> None:
    before = threading.active_count()
    with pytest.raises(ValueError, match="acks"):
        Producer(BOOTSTRAP, acks=7)  # type: ignore[arg-type]
    assert threading.active_count() == before


# The faces and the asyncio classes are the same by more than good will.


@pytest.mark.parametrize("name", FACES)
def test_face_has_each_public_method_with_the_same_signature(name: str) -> None:
    """But for `start` and `stop`, which are of `with` and the same for all."""
    assert issubclass(getattr(faces, name), faces._SyncClient)
    face = vars(getattr(faces, name))
    original = {
        method: function
        for part in reversed(getattr(tidelog.client, name).__mro__)
        if part.__module__.startswith("tidelog")
        for method, function in vars(part).items()
    }
    for method in ("start", "stop"):
        assert arguments(getattr(faces._SyncClient, method)) == arguments(original.pop(method))
    for method, function in original.items():
        if method.startswith("_") and method not in {"__init__", "__aiter__"}:
            continue
        helper = helper_for(function)
        method_here = method.replace("__aiter__", "__iter__")
        add = f"add to {name} in client/tidelog/client/sync.py: {method} = {helper}(Async{name}."
        assert method_here in face, f"{add}{method})"
        made = face[method_here]
        assert inspect.unwrap(made) is function, f"{add}{method})"
        assert made.__code__.co_qualname.startswith(helper), f"{add}{method})"
        assert arguments(made) == arguments(function), f"{add}{method})"
    own = {method for method in face if not method.startswith("_")}
    assert own == {method for method in original if not method.startswith("_")}


def helper_for(function: Callable[..., object]) -> str:
    """Which helper of sync.py fits what the asyncio method returns."""
    assert callable(function), f"{function}: sync.py has a helper for methods only; write one"
    returned = str(inspect.signature(function).return_annotation)
    if function.__name__ in {"__init__", "close"}:
        return {"__init__": "_wrap_init", "close": "_wrap_close"}[function.__name__]
    if inspect.iscoroutinefunction(function):
        return "_wrap_submit" if returned.startswith("asyncio.Future") else "_wrap_wait"
    if returned.startswith("AbstractAsyncContextManager"):
        return "_wrap_block"
    return "_wrap_iterator" if returned.startswith("Async") else "_wrap_call"


def arguments(function: Callable[..., object]) -> list[tuple[str, object, object, object]]:
    parameters = inspect.signature(function).parameters.values()
    return [(p.name, p.kind, p.default, p.annotation) for p in parameters]


def test_signatures_shown_name_what_is_returned() -> None:
    assert inspect.signature(vars(Producer)["submit"]).return_annotation == "Future[RecordMetadata]"
    assert "acks" in inspect.signature(Producer).parameters
    assert vars(Producer)["send"].__doc__ == tidelog.client.Producer.send.__doc__


# Waits end.


async def interrupted_main(seen: list[str]) -> None:
    """Interrupts the main thread that waits for it, and never ends by itself."""
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        seen.append("cancelled")
        raise


@pytest.mark.usefixtures("heard")
def test_interrupt_cancels_what_is_waited_for_and_nothing_else() -> None:
    seen: list[str] = []
    with LoopThread() as loop:
        with pytest.raises(KeyboardInterrupt):
            loop.run(interrupted_main(seen))
        assert loop.run(value(7)) == 7
        assert seen == ["cancelled"]


@pytest.mark.usefixtures("heard")
def test_interrupted_consumer_goes_on_reading(cluster: ThreadedCluster) -> None:
    cluster.create("t")

    def interrupt(method: str) -> None:
        if method == "Fetch" and not interrupts:
            interrupts.append(method)
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    interrupts: list[str] = []
    cluster.nodes.before_answer = interrupt
    with (
        Consumer(BOOTSTRAP, transport=cluster, fetch_max_wait_ms=1) as consumer,
        Producer(BOOTSTRAP, transport=cluster) as producer,
    ):
        consumer.assign([("t", 0)])
        with pytest.raises(KeyboardInterrupt):
            next(iter(consumer))
        producer.send("t", value=b"a")
        assert [record.value for record in consumer.getmany(timeout_ms=5_000)] == [b"a"]


async def value(number: int) -> int:
    return number


async def ends_late(started: threading.Event) -> None:
    started.set()
    await asyncio.Event().wait()


@pytest.mark.parametrize("name", FACES)
def test_use_after_close_says_so(name: str, cluster: ThreadedCluster) -> None:
    closed: Producer | Consumer | Admin = getattr(faces, name)(BOOTSTRAP, transport=cluster)
    closed.close()
    closed.close()
    with pytest.raises(errors.ClientClosedError):
        closed.list_topics() if isinstance(closed, Admin) else closed.partitions_for("t")
    with pytest.raises(errors.ClientClosedError), closed:
        pass


def test_close_ends_the_thread(cluster: ThreadedCluster) -> None:
    before = threading.active_count()
    producer = Producer(BOOTSTRAP, transport=cluster)
    assert threading.active_count() == before + 1
    producer.close()
    assert threading.active_count() == before


def test_close_in_time_fails_what_nobody_acknowledged(cluster: ThreadedCluster) -> None:
    cluster.create("t")
    producer = Producer(BOOTSTRAP, transport=cluster)
    producer.partitions_for("t")
    cluster.cut_off()
    outcome = producer.submit("t", value=b"a")
    producer.close(timeout_ms=1)
    with pytest.raises(errors.ClientClosedError):
        outcome.result()


def test_leaving_takes_no_longer_than_the_producer_was_told(cluster: ThreadedCluster) -> None:
    cluster.create("t")
    with Producer(BOOTSTRAP, transport=cluster, close_timeout_ms=1) as producer:
        producer.partitions_for("t")
        cluster.cut_off()
        late = producer.submit("t", value=b"a")
    with pytest.raises(errors.ClientClosedError):
        late.result()


def test_close_frees_those_who_wait_in_other_threads() -> None:
    started = threading.Event()
    with ThreadPoolExecutor() as pool:
        with LoopThread() as loop:
            waiting = pool.submit(loop.run, ends_late(started))
            started.wait()
        with pytest.raises(errors.ClientClosedError):
            waiting.result()


def test_iteration_ends_quietly_when_its_loop_is_gone(cluster: ThreadedCluster) -> None:
    with Producer(BOOTSTRAP, transport=cluster) as producer:
        producer.send_many("t", [b"a", b"b"])
    consumer = Consumer(BOOTSTRAP, transport=cluster)
    consumer.assign([("t", 0)])
    records = consumer.__iter__()
    assert next(records).value == b"a"
    consumer.close()
    records.close()  # type: ignore[attr-defined]  # it is a generator


def test_forgotten_face_ends_its_thread(cluster: ThreadedCluster) -> None:
    before = set(threading.enumerate())
    producer = Producer(BOOTSTRAP, transport=cluster)
    producer.send("t", value=b"a")
    (thread,) = set(threading.enumerate()) - before
    assert thread.daemon
    del producer
    gc.collect()
    thread.join(5)
    assert not thread.is_alive()


def test_forgotten_producer_still_learns_outcomes(cluster: ThreadedCluster) -> None:
    outcome = Producer(BOOTSTRAP, transport=cluster, linger_ms=5).submit("t", value=b"a")
    gc.collect()
    assert outcome.result().offset == 0


def test_threads_share_a_producer(cluster: ThreadedCluster) -> None:
    cluster.create("t")
    with Producer(BOOTSTRAP, transport=cluster) as producer, ThreadPoolExecutor(4) as pool:
        sends = [pool.submit(producer.send, "t", value=b"%d" % n) for n in range(40)]
        offsets = {send.result().offset for send in sends}
    assert offsets == set(range(40))
    assert sorted(cluster.values("t")[0], key=repr) == sorted(b"%d" % n for n in range(40))


# What could never end is refused.


def test_call_on_the_loops_own_thread_is_refused(cluster: ThreadedCluster) -> None:
    refused: list[str] = []

    def call(outcome: Future[RecordMetadata]) -> None:
        for attempt in (producer.flush, producer.close):
            try:
                attempt()
            except CallerError as error:
                refused.append(str(error))

    # It lingers till the main thread closes, which both attempts would wait for.
    with Producer(BOOTSTRAP, transport=cluster, linger_ms=60_000) as producer:
        producer.submit("t", value=b"a").add_done_callback(call)
    assert len(refused) == 2
    assert "own thread" in refused[0]


def test_call_in_a_fork_is_refused(cluster: ThreadedCluster) -> None:
    with Producer(BOOTSTRAP, transport=cluster) as producer:
        status = in_a_fork(producer.flush)
        assert producer.send("t", value=b"a").offset == 0
    assert os.waitstatus_to_exitcode(status) == 7


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def in_a_fork(call: Callable[[], object]) -> int:
    """The status of a child that exits with 7 where `call` raises CallerError."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            call()
        except CallerError:
            code = 7
        finally:
            os._exit(code)
    return os.waitpid(child, 0)[1]


def test_refused_coroutine_is_not_left_unawaited(recwarn: pytest.WarningsRecorder) -> None:
    with LoopThread() as loop:
        pass
    coroutine: Coroutine[Any, Any, int] = value(7)
    with pytest.raises(errors.ClientClosedError):
        loop.run(coroutine)
    del coroutine
    gc.collect()
    assert not [one for one in recwarn if "never awaited" in str(one.message)]


def test_a_closed_loop_drops_late_events_of_the_process_wide_completion_queue() -> None:
    loop_thread = LoopThread()
    loop_thread.start()

    async def own_loop() -> asyncio.AbstractEventLoop:
        return asyncio.get_running_loop()

    loop = loop_thread.run(own_loop())
    loop_thread.close()
    happened: list[str] = []
    late = loop.call_soon_threadsafe(happened.append, "late")
    assert loop.is_closed()
    assert late.cancelled()
    assert happened == []


def test_an_open_loop_is_silent_about_events_for_loops_that_are_closed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class PollerCompletionQueue:
        """gRPC's, as far as it passes an event on."""

        def _handle_events(self) -> None:
            closed.call_soon_threadsafe(print)

    async def run_all() -> None:
        loop = asyncio.get_running_loop()
        loop.call_soon(partial(PollerCompletionQueue()._handle_events))
        loop.call_soon(closed.call_soon_threadsafe, print)
        await asyncio.sleep(0)

    closed = asyncio.SelectorEventLoop()
    closed.close()
    PollerCompletionQueue._handle_events.__qualname__ = "PollerCompletionQueue._handle_events"
    with LoopThread() as loop_thread:
        loop_thread.run(run_all())
    (said,) = caplog.records
    assert "call_soon_threadsafe" in said.getMessage()

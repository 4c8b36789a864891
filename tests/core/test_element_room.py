"""Room for wide requests: what has none waits, fairly by address, and nothing of it is lost."""

from __future__ import annotations

import asyncio

from tidelog.core.element_room import ElementRoom


class Requests:
    """Requests that hold room until they are told to end."""

    def __init__(self, room: ElementRoom) -> None:
        self.room = room
        self.at_work: list[str] = []

    def begin(self, address: str, elements: int) -> tuple[asyncio.Task[None], asyncio.Event]:
        end = asyncio.Event()

        async def work() -> None:
            async with self.room.hold(address, elements):
                self.at_work.append(address)
                await end.wait()
            self.at_work.remove(address)

        return asyncio.create_task(work()), end


async def settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_an_address_has_half_of_the_room_and_others_the_rest() -> None:
    requests = Requests(ElementRoom(100))
    many = [requests.begin("many", 20) for _ in range(10)]
    await settled()
    assert requests.at_work == ["many"] * 2
    one, end = requests.begin("one", 40)
    await settled()
    assert requests.at_work == ["many", "many", "one"]
    assert requests.room.elements == 80
    end.set()
    for task, end_of in many:
        end_of.set()
        await task
    await one
    assert requests.room.elements == 0
    assert not requests.at_work


async def test_addresses_are_let_in_by_turns_and_whoever_left_is_in_nobodys_way() -> None:
    requests = Requests(ElementRoom(100))
    first, end = requests.begin("first", 100)
    await settled()
    waiting = [requests.begin(name, 50) for name in ("a", "a", "b", "c")]
    await settled()
    assert requests.at_work == ["first"]
    waiting[0][0].cancel()
    end.set()
    await first
    await settled()
    assert requests.at_work == ["a", "b"]
    for task, end_of in waiting[1:]:
        end_of.set()
        await task
    assert requests.room.elements == 0


async def test_room_that_is_not_needed_is_given_back_at_once() -> None:
    room = ElementRoom(100)
    async with room.hold("a", 50) as held:
        held.shrink(10)
        assert room.elements == 10
        async with room.hold("a", 40):
            assert room.elements == 50
    assert room.elements == 0


async def test_a_request_that_is_cancelled_as_it_is_let_in_gives_its_room_back() -> None:
    requests = Requests(ElementRoom(100))
    async with requests.room.hold("first", 100):
        late, _ = requests.begin("late", 100)
        await settled()
    assert requests.room.elements == 100, "the late one is let in, and has not run yet"
    late.cancel()
    await asyncio.gather(late, return_exceptions=True)
    assert requests.room.elements == 0
    assert not requests.at_work

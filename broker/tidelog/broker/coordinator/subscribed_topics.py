"""Topics that a group subscribes to, by name and by pattern, and their hash. Pure."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import replace
from hashlib import blake2b
from typing import NamedTuple

from tidelog.broker.coordinator.consumer_member import Member
from tidelog.broker.coordinator.offsets import Topics

_HASH_BYTES = 8
_HASH_END = 1 << 8 * _HASH_BYTES


class Subscription(NamedTuple):
    """Topics that a member subscribes to."""

    topics: frozenset[str]
    pattern: str

    def names(self, topics: Topics) -> frozenset[str]:
        """Names of the topics, some of which may not exist."""
        return self.topics | topics.matching(self.pattern) if self.pattern else self.topics


def subscription_of(member: Member) -> Subscription:
    """Return a member's subscription."""
    return Subscription(member.topics, member.pattern)


class SubscribedTopics:
    """Subscriptions of a group's members, and the names and the hash of their topics.

    Many members have one subscription: it is kept once, and compared by identity. Names and hash
    are those of the last question, since a thousand that join ask a thousand times.
    """

    def __init__(self) -> None:
        self._shared: dict[Subscription, Subscription] = {}
        self._members = Counter[Subscription]()
        self._patterns = Counter[str]()
        self._asked: tuple[frozenset[Subscription], object] | None = None
        self._names: frozenset[str] = frozenset()
        self._hash: int | None = None

    def add(self, member: Member) -> Member:
        """Note a member of the group; return it with the subscription that others have, too."""
        asked = subscription_of(member)
        shared = self._shared.setdefault(asked, asked)
        self._members[shared] += 1
        if shared.pattern:
            self._patterns[shared.pattern] += 1
        return replace(member, topics=shared.topics, pattern=shared.pattern)

    def remove(self, member: Member) -> None:
        """Forget a member."""
        subscription = subscription_of(member)
        self._members[subscription] -= 1
        if not self._members[subscription]:
            del self._members[subscription], self._shared[subscription]
        if subscription.pattern:
            self._patterns[subscription.pattern] -= 1
            if not self._patterns[subscription.pattern]:
                del self._patterns[subscription.pattern]

    @property
    def patterns(self) -> Collection[str]:
        """Patterns of the members."""
        return self._patterns.keys()

    def names(self, members: Iterable[Member], topics: Topics) -> frozenset[str]:
        """Names that some member subscribes to."""
        subscriptions = frozenset(map(subscription_of, members))
        asked, revision = self._asked, topics.revision
        if asked is None or asked[1] is not revision or asked[0] != subscriptions:
            self._asked = (subscriptions, revision)
            self._names = frozenset().union(*(one.names(topics) for one in subscriptions))
            self._hash = None
        return self._names

    def hash(self, members: Iterable[Member], topics: Topics) -> int:
        """See `topics_hash`."""
        names = self.names(members, topics)
        if self._hash is None:
            self._hash = topics_hash(names, topics)
        return self._hash


def topics_hash(names: Iterable[str], topics: Topics) -> int:
    """Hash the names, ids and partition counts of existing topics, in any order.

    Another hash calls for a rebalance. It is the sum of the topics' digests: ten thousand of them
    are hashed in a step of the loop.
    """
    return sum(map(topics.digest, names)) % _HASH_END


def digest_of(name: str, topic_id: bytes, partitions: int) -> int:
    """Digest of a topic with an id of 16 bytes, for `topics_hash`."""
    topic = topic_id + partitions.to_bytes(4, "big") + name.encode()
    return int.from_bytes(blake2b(topic, digest_size=_HASH_BYTES).digest(), "big")

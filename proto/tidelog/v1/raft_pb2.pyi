from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class RaftMessage(_message.Message):
    __slots__ = ("sender_id", "receiver_id", "incarnation", "term", "append_entries", "append_entries_reply", "request_vote", "vote_granted", "pre_vote", "pre_vote_reply", "install_snapshot", "install_snapshot_reply", "rejoin", "rejoin_reply", "hello", "cluster_id")
    SENDER_ID_FIELD_NUMBER: _ClassVar[int]
    RECEIVER_ID_FIELD_NUMBER: _ClassVar[int]
    INCARNATION_FIELD_NUMBER: _ClassVar[int]
    TERM_FIELD_NUMBER: _ClassVar[int]
    APPEND_ENTRIES_FIELD_NUMBER: _ClassVar[int]
    APPEND_ENTRIES_REPLY_FIELD_NUMBER: _ClassVar[int]
    REQUEST_VOTE_FIELD_NUMBER: _ClassVar[int]
    VOTE_GRANTED_FIELD_NUMBER: _ClassVar[int]
    PRE_VOTE_FIELD_NUMBER: _ClassVar[int]
    PRE_VOTE_REPLY_FIELD_NUMBER: _ClassVar[int]
    INSTALL_SNAPSHOT_FIELD_NUMBER: _ClassVar[int]
    INSTALL_SNAPSHOT_REPLY_FIELD_NUMBER: _ClassVar[int]
    REJOIN_FIELD_NUMBER: _ClassVar[int]
    REJOIN_REPLY_FIELD_NUMBER: _ClassVar[int]
    HELLO_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    sender_id: int
    receiver_id: int
    incarnation: int
    term: int
    append_entries: AppendEntries
    append_entries_reply: AppendEntriesReply
    request_vote: RequestVote
    vote_granted: VoteGranted
    pre_vote: PreVote
    pre_vote_reply: PreVoteReply
    install_snapshot: InstallSnapshot
    install_snapshot_reply: InstallSnapshotReply
    rejoin: Rejoin
    rejoin_reply: RejoinReply
    hello: RaftHello
    cluster_id: str
    def __init__(self, sender_id: _Optional[int] = ..., receiver_id: _Optional[int] = ..., incarnation: _Optional[int] = ..., term: _Optional[int] = ..., append_entries: _Optional[_Union[AppendEntries, _Mapping]] = ..., append_entries_reply: _Optional[_Union[AppendEntriesReply, _Mapping]] = ..., request_vote: _Optional[_Union[RequestVote, _Mapping]] = ..., vote_granted: _Optional[_Union[VoteGranted, _Mapping]] = ..., pre_vote: _Optional[_Union[PreVote, _Mapping]] = ..., pre_vote_reply: _Optional[_Union[PreVoteReply, _Mapping]] = ..., install_snapshot: _Optional[_Union[InstallSnapshot, _Mapping]] = ..., install_snapshot_reply: _Optional[_Union[InstallSnapshotReply, _Mapping]] = ..., rejoin: _Optional[_Union[Rejoin, _Mapping]] = ..., rejoin_reply: _Optional[_Union[RejoinReply, _Mapping]] = ..., hello: _Optional[_Union[RaftHello, _Mapping]] = ..., cluster_id: _Optional[str] = ...) -> None: ...

class RaftHello(_message.Message):
    __slots__ = ("engine",)
    ENGINE_FIELD_NUMBER: _ClassVar[int]
    engine: str
    def __init__(self, engine: _Optional[str] = ...) -> None: ...

class LogEntry(_message.Message):
    __slots__ = ("term", "command")
    TERM_FIELD_NUMBER: _ClassVar[int]
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    term: int
    command: bytes
    def __init__(self, term: _Optional[int] = ..., command: _Optional[bytes] = ...) -> None: ...

class AppendEntries(_message.Message):
    __slots__ = ("previous_index", "previous_term", "commit_index", "entries", "round")
    PREVIOUS_INDEX_FIELD_NUMBER: _ClassVar[int]
    PREVIOUS_TERM_FIELD_NUMBER: _ClassVar[int]
    COMMIT_INDEX_FIELD_NUMBER: _ClassVar[int]
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    ROUND_FIELD_NUMBER: _ClassVar[int]
    previous_index: int
    previous_term: int
    commit_index: int
    entries: _containers.RepeatedCompositeFieldContainer[LogEntry]
    round: int
    def __init__(self, previous_index: _Optional[int] = ..., previous_term: _Optional[int] = ..., commit_index: _Optional[int] = ..., entries: _Optional[_Iterable[_Union[LogEntry, _Mapping]]] = ..., round: _Optional[int] = ...) -> None: ...

class AppendEntriesReply(_message.Message):
    __slots__ = ("next_index", "is_success", "is_reset", "round")
    NEXT_INDEX_FIELD_NUMBER: _ClassVar[int]
    IS_SUCCESS_FIELD_NUMBER: _ClassVar[int]
    IS_RESET_FIELD_NUMBER: _ClassVar[int]
    ROUND_FIELD_NUMBER: _ClassVar[int]
    next_index: int
    is_success: bool
    is_reset: bool
    round: int
    def __init__(self, next_index: _Optional[int] = ..., is_success: _Optional[bool] = ..., is_reset: _Optional[bool] = ..., round: _Optional[int] = ...) -> None: ...

class RequestVote(_message.Message):
    __slots__ = ("last_log_index", "last_log_term")
    LAST_LOG_INDEX_FIELD_NUMBER: _ClassVar[int]
    LAST_LOG_TERM_FIELD_NUMBER: _ClassVar[int]
    last_log_index: int
    last_log_term: int
    def __init__(self, last_log_index: _Optional[int] = ..., last_log_term: _Optional[int] = ...) -> None: ...

class VoteGranted(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class PreVote(_message.Message):
    __slots__ = ("last_log_index", "last_log_term")
    LAST_LOG_INDEX_FIELD_NUMBER: _ClassVar[int]
    LAST_LOG_TERM_FIELD_NUMBER: _ClassVar[int]
    last_log_index: int
    last_log_term: int
    def __init__(self, last_log_index: _Optional[int] = ..., last_log_term: _Optional[int] = ...) -> None: ...

class PreVoteReply(_message.Message):
    __slots__ = ("asked_term", "is_granted")
    ASKED_TERM_FIELD_NUMBER: _ClassVar[int]
    IS_GRANTED_FIELD_NUMBER: _ClassVar[int]
    asked_term: int
    is_granted: bool
    def __init__(self, asked_term: _Optional[int] = ..., is_granted: _Optional[bool] = ...) -> None: ...

class InstallSnapshot(_message.Message):
    __slots__ = ("last_index", "last_term", "total_bytes", "offset", "data", "round")
    LAST_INDEX_FIELD_NUMBER: _ClassVar[int]
    LAST_TERM_FIELD_NUMBER: _ClassVar[int]
    TOTAL_BYTES_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    ROUND_FIELD_NUMBER: _ClassVar[int]
    last_index: int
    last_term: int
    total_bytes: int
    offset: int
    data: bytes
    round: int
    def __init__(self, last_index: _Optional[int] = ..., last_term: _Optional[int] = ..., total_bytes: _Optional[int] = ..., offset: _Optional[int] = ..., data: _Optional[bytes] = ..., round: _Optional[int] = ...) -> None: ...

class InstallSnapshotReply(_message.Message):
    __slots__ = ("last_index", "next_offset", "round")
    LAST_INDEX_FIELD_NUMBER: _ClassVar[int]
    NEXT_OFFSET_FIELD_NUMBER: _ClassVar[int]
    ROUND_FIELD_NUMBER: _ClassVar[int]
    last_index: int
    next_offset: int
    round: int
    def __init__(self, last_index: _Optional[int] = ..., next_offset: _Optional[int] = ..., round: _Optional[int] = ...) -> None: ...

class Rejoin(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class RejoinReply(_message.Message):
    __slots__ = ("asked_incarnation", "last_index", "commit_index", "known_incarnation")
    ASKED_INCARNATION_FIELD_NUMBER: _ClassVar[int]
    LAST_INDEX_FIELD_NUMBER: _ClassVar[int]
    COMMIT_INDEX_FIELD_NUMBER: _ClassVar[int]
    KNOWN_INCARNATION_FIELD_NUMBER: _ClassVar[int]
    asked_incarnation: int
    last_index: int
    commit_index: int
    known_incarnation: int
    def __init__(self, asked_incarnation: _Optional[int] = ..., last_index: _Optional[int] = ..., commit_index: _Optional[int] = ..., known_incarnation: _Optional[int] = ...) -> None: ...

class RaftExchangeEnd(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

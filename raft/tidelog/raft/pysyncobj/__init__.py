"""PySyncObj 0.3.17 as the second Raft engine, behind the same port as our own (decision 0031).

The only package that imports the library. `engine` adapts it to `raft/engine.py`, on top of
`replication` and `voting`, which override its private methods; `journal` gives it our durable log;
`codec` converts its messages.

The library decides:
    when to stand for election, who won one, what is committed (counted once a step), when a leader
    without a majority's answers steps down, which messages to send, and when.
Replaced, since 0.3.17 is not safe there:
    appending (only a contradiction truncates), acknowledgements (the match index never falls, other
    terms and earlier processes do not count), commit as a follower (never above the verified one),
    pre-vote and leader stickiness (it has neither), the journal, compaction, snapshots, the queue
    of commands. Where our own engine has a rule or a part for it, that one is used: `rules`,
    `raft_log`, `rejoiner`. Its sockets, threads, pickle, forks and files are never reached.

It supports all of the port: the same log and snapshot files, so that a stopped quorum may change
its engine; reads that write nothing; snapshots, also sent to voters that lag behind; voters with a
new disk (decision 0011).

It cannot
    step while a sync runs: a slow disk delays its heartbeats as well;
    bound a follower's in-flight messages by number: all missing entries are sent once, then again
    after a rejection (`max_inflight_appends` has no effect here; `max_peer_queue_bytes` has);
    form a quorum with voters of the other engine: each refuses the other with an error.
"""

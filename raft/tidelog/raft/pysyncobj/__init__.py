"""PySyncObj 0.3.17 as the second Raft engine, behind the same port as our own (decision 0031).

The only package that imports the library. `engine` fits it behind `raft/engine.py`, on top of
`replication` and `voting`, which override its private methods; `journal` shows it our durable log;
`codec` turns what it says into messages.

The library decides:
    when to stand for election, who won one, what is committed (counted once a step), when a leader
    that no majority answers steps down, what to send to whom, and when.
Replaced, since 0.3.17 is not safe there:
    appending (only a contradiction truncates), acknowledgements (the match index never falls, other
    terms and earlier processes do not count), commit as a follower (never above what is verified),
    pre-vote and leader stickiness (it has neither), the journal, compaction, snapshots, the queue
    of commands. Where our own engine has a rule or a part for it, that one is used: `rules`,
    `local_log`, `rejoiner`. Its sockets, threads, pickle, forks and files are never reached.

It can all that the port asks: the same log and snapshot files, so that a stopped quorum may change
its engine; reads that write nothing; snapshots, also sent to voters that lag
behind; voters with a new disk (decision 0011).

It cannot
    step while a sync runs: a slow disk delays its heartbeats as well;
    bound what is under way to a follower in messages: all that it lacks is sent once, then again
    at its refusal (`max_inflight_appends` means nothing here; `max_peer_queue_bytes` holds);
    form a quorum with voters of the other engine: each says so when they meet.
"""

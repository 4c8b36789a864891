"""Raft: the replicated metadata log of the controllers.

    replicated_log   the port of the controller to the quorum. Begin here
    engine           the port between an engine, which decides, and its driver, which acts
    rules            the safety rules, a function each, with the paper's section
    voter            Raft as a state machine: leader_state, raft_log, progress, pending, rejoiner
    driver           the shell: persist, then send; syncing runs concurrently
    wal, wal_file, wal_frames          the write-ahead log and its format
    snapshots, snapshotting, snapshot_file   snapshots of the metadata
    storage, durable_state             the durable state: both of them
    transport                          port for messages between voters
    stream_transport, peer_link, hello it on `net`'s streams; the check of a new stream
    factory          assembly of a voter
    pysyncobj/       a second engine behind the same port, based on PySyncObj

No module of the engine knows a clock, a disk or a network: the simulation runs the same code.

Imports: `net`, `log`, `core`, `proto`.
"""

"""Raft: the replicated metadata log of the controllers.

    replicated_log   the port: what a controller may ask of the quorum. Begin here
    engine           the port between an engine, which decides, and its driver, which acts
    rules            the rules on which safety rests, each alone, with the paper's section
    voter            Raft as a state machine: leading, local_log, progress, pending, rejoiner
    driver           the shell: persist, then send; syncing runs beside its steps
    wal, wal_file, wal_frames          the write-ahead log and its form
    snapshots, snapshotting, snapshot_file   snapshots of the metadata
    storage, durable_state             both of them as one
    transport, grpc_transport, hello   messages between voters, and who may open a stream
    factory          puts a voter together
    pysyncobj/       a second engine behind the same port, made of PySyncObj

No module of the engine knows a clock, a disk or a network: the simulation runs the same code.

Imports: `net`, `log`, `core`, `proto`.
"""

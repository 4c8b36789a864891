"""The broker: replicas of partitions, in rooms, and `replica_manager`, their host.

    replica/           the core: a replica as leader, as follower, in and out of the ISR
    partition/         one partition at work: its core, its log, its waiting requests; all of them
    replication/       followers' fetches, fetch sessions, ISR changes
    controller_link/   registration, heartbeats, the committed metadata, reports
    kafka/             Kafka's wire protocol: connections, requests and answers without sockets
    replica_manager    the replicas assigned by the newest image, and their background loops
    image_changes      partitions that differ from the newest image, updated in slices

Imports go down: `replica` and `kafka` import no other room, `partition` imports `replica`, the
others both.
Begin with `replica.leader`, the only place that decides when a record is committed.

Imports: `metadata`, `raft`, `log`, `records`, `net`, `core`, `proto`.
"""

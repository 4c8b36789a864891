"""The broker: replicas of partitions, in four rooms, and `replica_manager`, which hosts them.

    replica/           the core: what a replica does as leader, as follower, in and out of the ISR
    partition/         one partition at work: its core, its log, its waiting requests; all of them
    replication/       followers' fetches, fetch sessions, ISR changes
    controller_link/   registration, heartbeats, the metadata that is followed, reports
    replica_manager    which replicas there are, by the newest image, and the loops for them
    image_changes      the partitions that differ from an image, worked off in slices

Arrows go down: `replica` knows nobody, `partition` knows `replica`, the other rooms know both.
Begin with `replica.leader`: when a record is committed is decided there and nowhere else.

Imports: `metadata`, `raft`, `log`, `records`, `net`, `core`, `proto`.
"""

"""Partitions at work: the shell around `broker.replica`, and the requests of clients for them.

    partition          one partition: its replica's core, its log, its effects carried out
    leader_io          its appends, reads and deletions while it leads
    follower_io        its fetches, truncations and appends while it follows
    log_at_work        work on a log whose disk may refuse
    partition_map      all partitions this broker holds; partition_folders: their folders
    appender           Produce; append_order keeps the place of each
    reader             Fetch, ListOffsets, OffsetForLeaderEpoch; late_loads: reads of a cold disk
    record_deleter     DeleteRecords
    purgatory          requests that wait for the ISR or for records
    partition_queue    partitions that have something to ask of the controllers
    log_upkeep         retention, compaction, checkpoints; replica_config, replica_stats

Begin with `partition`.
"""

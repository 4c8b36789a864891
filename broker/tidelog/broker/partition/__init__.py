"""Partitions at work: the shell around `broker.replica`, and the handling of client requests.

    partition          one partition: its replica's core, its log, its effects carried out
    leader_io          its leader side: appends, reads, deletions
    follower_io        its follower side: fetches, truncations, appends
    log_at_work        context manager for a log whose disk may fail
    isolation          the end of the records that a consumer of an isolation level may read
    partition_map      all partitions this broker holds; log_directory: their folders
    produce            plain requests and results of Produce; fetch: of Fetch
    appender           Produce; append_order: the order of waiting appends
    opening_appends    batches that wait until their partition is open
    transactional_appends  batches that wait for their coordinator; transactional_batches: checks
    reader             Fetch, ListOffsets, OffsetForLeaderEpoch; late_loads: reads of a cold disk
    record_deleter     DeleteRecords
    purgatory          requests that wait for the ISR or for records
    partition_listener a coordinator's view: leadership begins, ends, commits; partition_listeners
    partition_writer   appends of coordinators; partition_loader: their reads of whole partitions
    log_cuts           truncations that the core ordered
    partition_queue    partitions with a request to the controllers
    log_upkeep         retention, compaction, checkpoints; replica_config, replica_stats

Begin with `partition`.
"""

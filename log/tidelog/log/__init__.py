"""Storage: the log of one partition replica, in Kafka's files, and nothing else.

Begin with `partition_log`: the contract of a log, and its only public interface. Below it:

    segment_list, segment     files of whole batches: order, roll, removal
    log_writer, log_ends      writing at the end; moving either end
    segment_walk              walks over the batches of its file
    index, entry_file         the sparse offset and time indexes of a segment
    reindexing                their rebuild, in slices
    aborted_index             its index of aborted transactions
    validation, record_check  a leader's checks of produced batches before an append
    epochs, producers         leader epochs (KIP-101, KIP-279); idempotent producers (KIP-98)
    transactions              those that are not decided yet (KIP-98, KIP-890)
    producer_replay           both of these from batches
    log_folder, opening       one folder: its owner, its small files, its opening
    recovery, torn_write      recovery at start; distinction of cut writes from damage
    stable_storage            recovery point and checkpoint
    retention                 selection of expired segments
    cleaner, cleanable, compaction   log compaction (KIP-58, KIP-534)
    record_rows               one batch of it, record by record, in steps
    time_lookup, checkpoints, producer_snapshots, snapshot_files, file_names, config

Modules with the line "Pure" decide and never act. Disk, clock and randomness are handed in, so the
same code runs on a simulated disk that loses what was not synced.

Imports: `records`, `core`, `proto`.
"""

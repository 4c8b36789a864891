"""Storage: the log of one partition replica, in Kafka's files, and nothing else.

Begin with `partition_log`: the contract of a log, and the only door to it. Below it:

    segment_list, segment     files of whole batches, and what happens to them as files
    index, entry_file         the sparse offset and time indexes of a segment
    validation, record_check  what a leader checks of produced batches before anything is appended
    epochs, producers         leader epochs (KIP-101, KIP-279); idempotent producers (KIP-98)
    log_folder, opening       one folder: its owner, its small files, its way to life
    recovery, torn_write      what a start makes of the files it finds; cut writes told from damage
    stable_storage            what survives a crash, and how far the disk has it
    retention                 which segments have had their time
    cleaner, cleanable, compaction   log compaction (KIP-58, KIP-534)
    time_lookup, checkpoints, producer_snapshots, snapshot_files, file_names, config

Modules with the line "Pure" decide and never act. Disk, clock and randomness are handed in, so the
same code runs on a simulated disk that loses what was not synced.

Imports: `records`, `core`, `proto`.
"""

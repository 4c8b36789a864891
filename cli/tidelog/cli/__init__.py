"""The `tidelog` command. `main` lists its groups; each command is a module of its name.

    cluster, topics, configs, quorum, events      run a cluster and look at it
    brokers, cluster_health, topic_views          what there is, and what partition_states lack
    produce, consume                              records in, records out
    input_lines, input_records, record_json       what produce reads, and consume prints as JSON
    reading, start_offset, record_format          which records consume reads, and how it shows them
    dump_log, dump_*, metadata_log                files, read without a node
    check, chaos, sim, bench, demo, pipeline      programs of other rooms, behind a thin command
    bootstrap, connection, table, units, counts   what commands share
    completion                                    the script of a shell

Commands are imported when they run, so `tidelog --help` needs none of their packages. Errors are
one line on stderr and exit code 1; wrong usage is 2; an interrupt 130.
"""

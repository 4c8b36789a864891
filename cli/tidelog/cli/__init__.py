"""The `tidelog` command. `main` lists its groups; each command is a module of its name.

    cluster, topics, configs, quorum, events      run a cluster and look at it
    produce, consume                              records in, records out
    dump_log, dump_*, metadata_log                files, read without a node
    check, chaos, sim, bench, demo, pipeline      programs of other rooms, behind a thin command
    connection, record_text, stdin_lines          what commands share

Commands are imported when they run, so `tidelog --help` needs none of their packages. Errors are
one line on stderr and exit code 1; wrong usage is 2; an interrupt 130.
"""

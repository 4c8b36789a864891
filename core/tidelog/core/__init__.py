"""The ground floor: what every package of Tidelog stands on.

Rooms:

    errors        wire error codes as exceptions, and the advice that goes with each
    env           ports to the outside world: clock, disk, randomness; atomic and durable writes
    system        their implementations on this machine, the only place with threads, mmap and fsync
    page_cache    reads that take what is in memory and never wait for a device
    memory_reads  work that is run again after each wait for the disk (decision 0027)
    output_file   the file a process writes its output to, rotated while it runs
    logs          loggers, whose lines a context may take elsewhere
    workers       a bounded pool of threads for long, pure computations
    config_keys   configuration keys, each declared once as a field of a dataclass
    config_types  types of their values: parsing, bounds, printing
    config_sources  their values, from the environment, a file or the default

Time, disk and randomness are handed to a constructor and never imported, so the same code runs in a
process and in the simulation. Begin with `env`: it says what a disk promises, and what it does not.

Imports: `tidelog.v1` (the error codes of the wire) and nothing else of this project.
"""

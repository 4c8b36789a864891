"""Metadata: records become an image, and the controller decides which records.

    image, delta, snapshot   the frozen image; replay of records; an image as records
    images/                  its aspects: image, replay and snapshot of each in one file
    controller               the core: a command and an image in, records and a reply out
    commands, command_ids    a row for each command; the commands followed already
    topics, partitions, configs, brokers, replication, leaders, damage, producer_ids, plans
                             the decisions, one module for each kind of command
    election, placement, topic_rules   rules that several decisions share (KIP-966)
    quorum_controller        the shell: a queue of commands in front, the replicated log behind
    state_machine            the replicated log's: the image, the newest batches, followers

A command never changes an image: it yields records, the quorum commits them, `delta` replays them.
Begin with `image`, then `controller`.

Imports: `raft`, `log`, `net`, `core`, `proto`.
"""

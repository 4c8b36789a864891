"""The coordinator of consumer groups: who reads which partition, and how far each group has read.

    group_key             the group's partition of `__consumer_offsets`: its leader coordinates it
    coordinator_records   records of that topic: keys and values, as bytes and as messages
    offsets               committed offsets of all groups of one partition: the core
    assignors/            assignment of partitions to members, by the coordinator (KIP-848)

A core here decides records and replies and changes nothing; `replay` of a record alone changes its
state, so that a coordinator that loads the topic has the state of the one that wrote it. Begin with
`offsets`.
"""

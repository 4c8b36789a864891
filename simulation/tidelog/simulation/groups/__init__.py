"""The groups suite: consumer groups on whole nodes, with real clients, on virtual time.

seed_run       one seed from start to end; begin here
simulation, simulation_config, coverage   the cluster of a seed, its members, what it must meet
member_process, observed_lease            one member: its process, its application, what it was told
classic_group, classic_member, classic_checks   a group of the classic protocol
classic_port, classic_plain, plain_calls        how its members call and read, here
traffic        topics and their producers: grown, deleted, made again
faults, member_faults, coordinator_faults, topic_faults   what strikes whom
handouts, ownership, commits              what must hold, seen from outside
coordinator_checks, replayed_log          what must hold in coordinators' memory
rest           what must be when all faults are over
"""

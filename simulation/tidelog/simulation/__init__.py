"""Simulation: whole nodes in one process, on virtual time, from one seed.

    engine/    event loops, scheduler, clocks, network, disks: all decided by the seed
    raft/      the Raft suite: voters alone, every step checked
    cluster/   the cluster suite: whole nodes, clients, faults, invariants; and chaos's stories
    groups/    the groups suite: consumer groups on such nodes, members as processes
    suites/    seeds by the hundred, over worker processes; the ledger
    mutants/   broken rules, each of which a suite must notice

    tidelog sim run --suite cluster --seeds 0:20
    tidelog sim mutants --suite raft

The same seed gives the same trace in every process. Imports: `chaos` and everything below it.
"""

"""Mutants: one small function of the product replaced by a wrong one, which a suite must notice.

    mutant                   how a patch is applied and taken back
    raft, raft_*             mutants of the Raft suite
    cluster, cluster_*       mutants of the cluster suite
    groups, groups_*         mutants of the groups suite
    wire, wire_groups        mutants of the wire suite
    hunt                     seeds until a mutant is caught
    on_sockets, socket_hunt  mutants in real processes, and the scenario that must notice each

The product knows no mutant: a launcher patches it from outside. docs/MUTANTS.md has the table.
"""

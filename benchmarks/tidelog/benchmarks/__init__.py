"""The benchmark: Tidelog and a peer in one session, side by side (`tidelog bench run`).

plan, rows, efforts   the rows, their aims, how much is run. Pure
session               one session: every group in turn, ours and the peer's alternating; begin here
own_cluster, nodes    three nodes on free ports, and what they spend
worker, load_*, loaded_cluster   one load in a process of its own
peer                  a program that runs the peer's side
report, machine       the tables, and where the figures are from; signals, errors
"""

"""Scenarios: stories of faults, each with what it claims. `catalogue` lists them by id.

leaders, acks, epochs    leaders that die, logs that part and become one again
controllers, late_calls  the quorum; calls that arrive after their callers gave up
network, links           TCP's tricks, and who still hears whom
disks, damage            disks that refuse, files that are not what was written
storms, starvation       many faults at once, and a machine that is busy
clients, hostile, foreign, strangers   old clients, hostile callers, nodes of other clusters
control                  no fault at all: what is noticed here is wrong without any
"""

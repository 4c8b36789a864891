"""Scenarios: stories of faults, each a function with its claim under `@scenario`.

groups                   consumer groups: members and coordinators that die, sleep, are cut off
leaders, acks, epochs    leaders that die, logs that part and become one again
controllers, late_calls  the quorum; calls that arrive after their callers gave up
network, links           TCP's tricks, and who still hears whom
disks, damage            disks that refuse, files that are not what was written
storms, starvation       many faults at once, and a machine that is busy
clients, hostile, foreign, strangers   old clients, hostile callers, nodes of other clusters
control                  no fault at all: any anomaly here is wrong without one

A new one: `@scenario("F99")` over `async def its_name(run)` with its claim as docstring, in the
file of its kind or a new one, then `make docs`. Nothing else lists it.
"""

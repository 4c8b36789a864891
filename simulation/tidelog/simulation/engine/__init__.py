"""The deterministic engine: one heap of events for all nodes, and ports that obey it.

scheduler, loop, tasks   nodes' asyncio loops, stepped one at a time in virtual time
clock                    nodes' clocks: offset, drift
network, exchange, streams, late_calls   messages that are late, lost, cut off or repeated
disk, medium, disk_faults                disks that lose what was not synced, and fail
peers, raft_transport, byte_streams   the product's ports over that network
trace, run_garbage       the hash of a run; garbage collection at fixed steps
"""

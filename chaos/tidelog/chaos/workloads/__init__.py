"""Clients that run while faults strike.

workload, senders, readers, plans, workload_port   producers with unique values, readers, an admin
clients                  who makes producers and readers, and what is asked of them
group_*                  a consumer group: members, their book, looks from outside
malformed*, oversized, wide, half_sent, noise      hostile callers: bytes no client sends
holding_frames ◆ strangers of Kafka's protocol that hold a node's room: slow, unread, parked
forged_raft                                  Raft messages that no voter wrote
harmless, grpc_rpcs, dice, tally             which requests change nothing; every RPC; draws; sums
"""

"""Replication: what brokers fetch from each other, and how the ISR follows from it.

fetcher          the follower's side: one stream to each leader, for all it follows there
fetch_rounds     partitions that are named to their leader though nothing of them moved
fetch_session    the leader's side: sessions that say only what changed (KIP-227)
alter_partition  ISR changes on their way to the controller (KIP-497)
"""

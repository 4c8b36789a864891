"""Replication: fetches between brokers, and the ISR changes that result from them.

fetcher          follower side: one stream to each leader, for all partitions followed there
fetch_rounds     periodic re-sends of partitions to their leader
fetch_answer     leader side: an answer in progress, and the partitions it answers with
fetch_session    leader side: incremental fetch sessions (KIP-227)
alter_partition  ISR changes proposed to the controller (KIP-497)
"""

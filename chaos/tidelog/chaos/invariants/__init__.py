"""Invariants of metadata and replicas, over plain samples: simulated and real nodes alike.

replicas      one replica: its ends, epochs and ISR; what it must hold; one leader an epoch
batches       batches that follow each other
sizes         memory, tasks, queues of a node
images        metadata images: equal at one offset, never older, lawful
elections     which elections may lose what, by topic
replica_logs  replicas' files in the calm: whole, equal, found by their indexes
invariant     how a check reports
"""

"""The aspects of the metadata: each has its image, its replay and its snapshot in one file.

brokers        registered brokers, fenced or not (KIP-631)
topics         topics and partitions; the invariants of a partition's state
configs        configs set on the cluster and on topics
commands       commands that were followed, with their replies
producer_ids   where the next block of producer ids begins (KIP-730)
copied         a dictionary of an image, copied when it is first written to

An aspect's `...Delta` replays the records of one batch on its part of the image; its `records_of`
gives the records that make that part again. `tidelog.metadata.image` composes the parts, and
`tidelog.metadata.delta` hands each record to its aspect.
"""

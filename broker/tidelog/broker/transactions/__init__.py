"""The coordinator of transactions: which are open, and how each ends (KIP-98; KIP-890, version 2).

    transaction_key          the partition of `__transaction_state` of an id: by the id's prefix
    transaction              one transactional id: its states, the edges between them, its record
    transaction_requests     decisions on its producer's requests: who asks is compared first
    end_transactions         EndTransactions: those of one prefix end together
    transaction_shard        all ids of one partition: room, time-outs, markers that lack
    transaction_coordinator  the shell: requests, commits, time-outs, expiry; all else by ports
    decided_markers          which markers may be sent: those whose decision is committed
    marker_lines             markers that wait: a line for each partition, lanes for each broker
    marker_sender            requests to the leaders, repeated until each partition has its marker
    partition_additions      the other side: brokers have coordinators add partitions, bundled
    transaction_config       configuration

Begin with `transaction`. As in `broker/coordinator`, decisions make records, and `replay` of a
record alone changes the state.
"""

"""The node's journal: a ring of typed events, each with its cause.

    ring             the newest events, bounded in number and bytes; repeated refusals are one
    metadata_events  the events of a batch of metadata, the same on every node
    node_journal     both at work: time stamps, pages for `ListEvents`

Events themselves are `core.journal`.
"""

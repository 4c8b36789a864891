"""The core of a partition replica: events in, effects out, no clock and no disk of its own.

    replica    one replica: its role, its leader epoch, the change from one to the other
    leader     who may append and read what, what is committed, who is in sync
    follower   what to fetch from where, where to truncate (KIP-101, KIP-279, KIP-595)
    isr        the ISR as committed and as proposed; the maximal ISR bounds the high watermark
    events     what happened, in the past tense
    effects    what the shell must do, in the order given

Every rule has a row in docs/REPLICATION.md, a test that fails without it, and a mutant.
"""

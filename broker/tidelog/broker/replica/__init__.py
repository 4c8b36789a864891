"""The core of a partition replica: events in, effects out, no clock and no disk of its own.

    replica    one replica: its role, its leader epoch, changes of both
    leader     admission of appends and reads, high watermark, ISR
    follower   fetch answers, truncation (KIP-101, KIP-279, KIP-595)
    isr        the ISR, committed and proposed; the maximal ISR bounds the high watermark
    events     inputs, named in the past tense
    effects    outputs: orders to the shell, in sequence

Every rule has a row in docs/REPLICATION.md, a test that fails without it, and a mutant.
"""

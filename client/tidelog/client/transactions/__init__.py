"""Transactions of one producer.

transaction_state    what the producer may do next, a core
coordinator_calls    is in `groups`: one for groups and transactional ids
transactions         initialising, committing, aborting, offsets, over a producer's engine
methods              the part of `Producer` and `TableWriter` that applications call
"""

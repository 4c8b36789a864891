"""Checks of a history. Each yields complaints: an anomaly and the calls that prove it.

delivery       all checks of what clients saw; begin here
evidence       the history by partition, which the others read
losses         records that were promised to be there and are not
identities     records that lie in a place that is another's
orders         the order in which records lie and are read
availability   how long acknowledgements were missing
"""

"""The admin client: topics, configs, leaders and the cluster, asked and changed through any broker.

`Admin` has a method for each request; `descriptions` holds what they return, `events` the nodes'
journals, `quorum` the controllers' state, `changes` the outcome of a change for each item.
"""

from tidelog.client.admin.admin import Admin

__all__ = ["Admin"]

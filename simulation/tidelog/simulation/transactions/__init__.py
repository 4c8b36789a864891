"""The transactions suite: producers that append to several partitions at once, and exactly once.

On the cluster suite's world: appenders, each with a transactional id, append to lists; copiers read
what is committed, process it and commit their group's offsets in the same transactions. They are
killed, paused and started again under the same id; coordinators move while transactions are open.
"""

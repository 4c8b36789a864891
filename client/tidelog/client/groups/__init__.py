"""Members of consumer groups: joining, assignments, committed offsets.

listener            what an application is called with; offsets that it commits
membership          a member as it sees itself, a core
coordinator_calls   calls to a group's coordinator, wherever it is
committed           commits and look-ups of committed offsets
group_member        the connection to the coordinator, heartbeats, the end of a session

`consuming.group_reader` has the partitions that come and go.
"""

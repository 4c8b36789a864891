"""Stories: their verbs, and the cluster they run on.

cluster_port  port: the cluster under test, simulated or of processes; machines: power cuts
group_port, group_run   the story's consumer group: the port of it, and its verbs
scenario_run  a story's verbs: strike, wait, expect, promise
scenario      a story under an id, and the surroundings it needs
paths         directed links between nodes and groups of clients
samples       the state of a node at one moment
"""

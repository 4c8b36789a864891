"""What a story is told with.

ground    port: the cluster a story plays on, simulated or of processes
scene     the story's own verbs: do, wait, expect, promise
machines  the nodes by their roles; paths: who speaks to whom
samples   what was seen inside the nodes at one moment
"""

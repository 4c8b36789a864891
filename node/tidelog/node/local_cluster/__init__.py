"""A cluster of node processes on this machine, in one data folder.

plan     the folder's configuration files, checked before any process starts
process  start a node's process, find it again, end it, and no other
calls    questions to the nodes: their state, readiness for a stop of all
errors   `LocalClusterError`, `TakenPortError`
"""

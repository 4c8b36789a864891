"""Clients of a chaos run that are aiokafka's, unmodified, by Kafka's protocol.

producer, reader   what a workload asks of a producer and of a reader
member             the consumer of a group's member
makers             who makes producers and readers
failures           its errors as ours: what is known of a call that failed
logs               what it says of itself, in a file
starting           a start is tried again while no broker answers
"""

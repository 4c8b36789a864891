"""Handlers of the gRPC services: a message in, a message out. None knows gRPC.

broker          Broker: Produce, Fetch, ListOffsets, Metadata; topics created on first use
produce_codec   gRPC messages of Produce to plain requests, plain results to messages
fetch_codec     gRPC messages of Fetch to plain requests, plain results to messages
produce_stream  one stream of Produce requests, begun in the order sent
admin           Admin: topics, configs, the cluster
controller      Controller: what brokers and other controllers ask; forwarded to the active one
reached         addresses in answers: of the listener that received the request
node            Node: this node's own state, and the stop of a cluster as one
"""

"""Kafka's wire protocol: bytes of a connection to requests, and answers to bytes, in their order.

    config              keys of the limits
    request_budget ◆    bytes of requests over all connections
    request_header ◆    what a frame begins with; frames that are of another protocol
    frame_reader ◆      bytes to frames; nothing is allocated before a size is checked
    answer_queue ◆      answers to buffers, and which of them were sent
    connection ◆        a connection's requests in flight, and every limit of one
    traffic ◆           counters for metrics
    peer, server        the shell: handlers' tasks, connections of a node, idle ones, a stop

Begin with `connection`. Sockets are in `tidelog.net.tcp_server`, and the port between the two in
`tidelog.net.byte_streams`, which the simulated network implements, too.

Imports: `net`, `core`.
"""

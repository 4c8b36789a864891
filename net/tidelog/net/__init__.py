"""Calls between processes: the port for them, and gRPC below it.

Rooms:

    transport, peers       the ports: unary calls and streams to an address, with deadlines, which
                           the simulation implements, too
    grpc_channels          channels and their options; connected before a request is written, so
                           that "never delivered" is certain
    grpc_transport         the ports on gRPC: one channel for each address
    grpc_streams           streams on such a channel, or on a connection of their own (Raft's)
    grpc_dial              a probe of an address: is a process listening there, and which one
    closed_loops           gRPC events for loops that are closed make no traceback
    listeners              sockets of a node by name: bound and advertised address, services
    grpc_server, grpc_edge a server for each listener; its edge: bytes to requests
    byte_streams           the port of connections that carry bytes, for other protocols than gRPC
    tcp_server             it on sockets: accepts, receives in place, sends without joining
    handlers, internal_calls   a handler's method of an RPC; requests that only nodes may send
    grpc_connections       traffic of this process by connection; grpc_log: log filter
    request_elements, unfinished_requests, unread_responses   limits against excessive callers
    own_cluster, strangers messages from other clusters: refused, counted, logged once for each
    call                   the RPC call behind a request; quiet_ports: free ports for local clusters

Begin with `transport`.

Imports: `tidelog.core` for its errors, `tidelog.v1` for the methods of the wire.
"""

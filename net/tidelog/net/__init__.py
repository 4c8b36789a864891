"""Calls between processes: the port for them, and gRPC below it.

Rooms:

    transport       the port: a unary call and a stream to an address, with deadlines; what the
                    simulation implements, too
    grpc_transport  its implementation on gRPC: one channel for each address, connected before
                    anything is written to it, so that "never delivered" is certain
    grpc_dial       a probe of an address: is a process listening there, and which one
    strangers       messages of another cluster: refused, counted, logged once for each cluster

Begin with `transport`.

Imports: `tidelog.core` for its errors, `tidelog.v1` for the methods of the wire.
"""

"""APIs of Kafka's protocol: a request's message in, a response's message out. None knows sockets.

    served            a row: which versions of an API are served, and by which handler. Begin here
    dispatch          rows to what the listeners call: bytes to message, handler, message to bytes
    error_codes ◆     numbers in answers, where Kafka's clients read other advice from ours
    response_errors ◆ error codes of a response, for metrics
    reached ◆         leaders' addresses in answers: of the caller's listener
    broker_ports      the parts of a broker that handlers work with
    table             the rows of a node, collected from the modules below
    api_versions, metadata, produce, fetch, list_offsets, leader_epochs, producer_ids
                      one family of APIs each
    admin_table       the rows of administration, from the `admin_` modules, one family of APIs each
    admin_refusals ◆  errors of administration, with their messages
    admin_broker_configs ◆  a node's own configs

Handlers translate to the parts that gRPC's handlers call (`tidelog.node.handlers`): one semantics,
two protocols. An API is in the table only if it is served completely. `docs/KAFKA.md` lists them.
"""

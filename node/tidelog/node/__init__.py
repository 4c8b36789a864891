"""A node: a process that is a broker, a controller or both.

    __main__, process   `python -m tidelog.node --config FILE`: from the configuration to the end
    config, config_text the configuration: every key with type, default, range and doc
    served_node         a node with its listeners, in any process
    server              the composition root: builds the object graph out of ports. Begin here
    handlers/           the handlers of all gRPC services
    kafka, kafka_apis/  Kafka's protocol: which of its APIs are served, and their handlers
    journal/            what happened on this node and why, for `tidelog events`
    http, metrics       `/metrics` and `/health`
    http_produce/       records by `POST /topics/TOPIC`, off unless configured
    data_directory, start_record   whose a data folder is; what the last life may have lost
    slot_file           a small file that a full disk lets change
    node_log, repeated_lines, last_words   the process's log
    garbage, loop_stalls           the collector's calm, the loop's longest stalls
    local_cluster/      several node processes on one machine, for `tidelog cluster`

Imports: `broker` and everything below it; `http_produce` alone `client`, too.
"""

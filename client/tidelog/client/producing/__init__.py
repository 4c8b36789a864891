"""The producer: records in, acknowledgements out.

producer       the public face; begin here
producer_engine   the buffer, the sender and the routing of every producer
accumulator, batches, ready_partitions, ranked   what waits, and who may be sent. Pure
sequences      producer id, epoch and sequence numbers (KIP-98). Pure
sender         batches to leaders, at most `max_in_flight` a broker
produce_stream one stream of requests a broker
outcomes       the retry policy: what becomes of a batch, by answer, failure and timeout
deliveries     futures of records
partitioners, serializers, producer_interceptors
"""

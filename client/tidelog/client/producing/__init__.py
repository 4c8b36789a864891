"""The producer: records in, acknowledgements out.

producer       the public interface; begin here
producer_engine   the buffer, the sender and the routing of every producer
accumulator, batches, ready_partitions, ranked   waiting batches, and which may be sent. Pure
sequences      producer id, epoch and sequence numbers (KIP-98). Pure
sender         batches to leaders, at most `max_in_flight` requests per broker
produce_stream one stream of requests per broker
outcomes       the retry policy: the fate of a batch after an answer, a failure or a timeout
deliveries     futures of records
partitioners, serializers, producer_interceptors
"""

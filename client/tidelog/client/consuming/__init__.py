"""The consumer: subscribed or assigned partitions, read in order.

consumer       the public interface; begin here
subscription   the partitions of topics by name or pattern, new ones too
assignment     which partitions, and the position in each. Pure
fetcher        fetches ahead of the application, from every leader at once, within bounds
fetch_stream   one stream of Fetch requests per broker
fetch_results  headers of fetched batches, errors of positions. Pure
isolation      isolation levels, and the batches of aborted transactions. Pure
group_reader   partitions of a member of a group, as they come and go
handed_out     offsets that the application is done with. Pure
ready_records  fetched records that are ready for the application
record_batch   a batch that is decoded when iterated
deserializers, consumer_interceptors
"""

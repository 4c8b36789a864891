"""The consumer: assigned partitions, read in order.

consumer       the public face; begin here
assignment     which partitions, and the position in each. Pure
fetcher        fetches ahead of the application, from every leader at once, within bounds
fetch_stream   one stream of Fetch requests a broker
ready_records  fetched records that are ready for the application
record_batch   a batch as the application gets it
deserializers, consumer_interceptors
"""

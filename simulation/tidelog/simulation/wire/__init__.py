"""The wire suite: Kafka's protocol, frame by frame, between whole nodes and clients under faults.

seed_run       one seed from start to end: the cluster suite's storm with these clients; begin here
frames ◆       one connection from the client's end: requests to frames, frames to answers
link           its bytes on the simulated network
cluster_map ◆  what a client knows of leaders, epochs and addresses
wire_client    connections and metadata of one client
wire_producer, partition_queue ◆   a producer: numbers, requests in flight, what each answer means
wire_reader    a consumer: positions, leader epochs
answers ◆, versions ◆              errors as Kafka's clients take them; versions that are spoken
wire_clients   who makes them for the workload
wire_group     the classic group of some seeds, of the groups suite's members; what holds at rest
group_frames ◆, group_calls     a member's requests and answers as messages, and its connection
group_reading  what members hand out
group_tap      members' requests and answers, for the groups suite's checks
strangers      wide, slow, unread, parked and half-open strangers at the listeners of some seeds
holding_strangers   strangers who come again and hold what a node has room for
leader_claims  what must hold of what brokers tell of leaders
wide_stranger  a stranger with wide requests on both listeners, in some seeds
server_tap     requests and answers, for the cluster suite's invariants
"""

"""The coordinator of consumer groups: who reads which partition, and how far each group has read.

    group_key             the group's partition of `__consumer_offsets`: its leader coordinates it
    coordinator_records   records of that topic: keys and values, as bytes and as messages
    offsets               committed offsets of all groups of one partition: the core
    consumer_group        a group of the consumer protocol (KIP-848): members, epochs, holders
    consumer_member       one member, and its way to its target assignment
    consumer_heartbeats   decisions on members' heartbeats, and on members whose time is over
    consumer_sessions     who is alive, and what each was sent
    ordered_heartbeats    heartbeats of Kafka's own clients, which number nothing
    classic_group         a group of the classic protocol: generations, who leads one, votes
    classic_messages      its requests and answers, in no protocol's encoding
    classic_requests      decisions on them: join, sync, heartbeat, leave
    classic_rebalances    steps from one generation to the next, and whose time is over
    classic_calls         the shell over them: calls wait until they are answered and committed
    subscribed_topics     topics of a group, by name and by pattern
    patterns/             patterns of subscriptions, and the topics that they match
    target_assignments    a group's target assignment, made by an assignor in slices
    group_assignments     the work on them: slices, steps of members, pushes
    group_journal         what decisions did, in events for the journal
      group_facts, classic_facts  facts of a group, compared before and after
      event_budget          so many events a minute
    group_lag             how far groups are behind, looked up now and then
      lag_plan              whom it asks what
    group_metrics         metrics of groups, with labels
    assignors/            assignment of partitions to members, by the coordinator (KIP-848)

A core here decides records and replies and changes nothing; `replay` of a record alone changes its
state, so that a coordinator that loads the topic has the state of the one that wrote it. Begin with
`offsets`, the smaller one, then `consumer_member`.
"""

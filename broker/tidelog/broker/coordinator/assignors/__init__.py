"""Assignment of partitions to the members of a consumer group, on the coordinator (KIP-848).

    interface     members, the group, the result; the protocol of an assignor, in slices
    uniform       `uniform`, the default: even and sticky
    range         `range`: consecutive partitions of each topic, as Kafka's
    round_robin   `roundrobin`: partitions in turns, as Kafka's
    ordering      order of members and topics; the subscribers of each topic
    slices        steps of work between two yields
    member_sets   sets of members and of pools as bits of integers; members by load
    pools         for `uniform`: topics with the same subscribers, counted together
    holdings      for `uniform`: counts by member and pool, held and owned before
    chains        for `uniform`: moves from member to member that even out loads
    validated     a user's assignor, its result checked
    catalogue     assignors by name, a user's class among them

An assignor decides from the group alone, and is the same for members and topics in any order.
Begin with `interface`, then `range`; `uniform` is the longest.
"""

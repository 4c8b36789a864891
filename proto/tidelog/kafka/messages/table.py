"""APIs of Kafka that have messages here.

Generated from proto/kafka/*.schema; do not edit.
"""

from __future__ import annotations

from tidelog.kafka.api import Api

APIS: dict[int, Api] = {
    0: Api(0, "Produce", "produce", 3, 13, 9, False),
    1: Api(1, "Fetch", "fetch", 4, 18, 12, False),
    2: Api(2, "ListOffsets", "list_offsets", 1, 11, 6, False),
    3: Api(3, "Metadata", "metadata", 0, 13, 9, False),
    8: Api(8, "OffsetCommit", "offset_commit", 2, 10, 8, False),
    9: Api(9, "OffsetFetch", "offset_fetch", 1, 10, 6, False),
    10: Api(10, "FindCoordinator", "find_coordinator", 0, 6, 3, False),
    11: Api(11, "JoinGroup", "join_group", 0, 9, 6, False),
    12: Api(12, "Heartbeat", "heartbeat", 0, 4, 4, False),
    13: Api(13, "LeaveGroup", "leave_group", 0, 5, 4, False),
    14: Api(14, "SyncGroup", "sync_group", 0, 5, 4, False),
    15: Api(15, "DescribeGroups", "describe_groups", 0, 6, 5, False),
    16: Api(16, "ListGroups", "list_groups", 0, 5, 3, False),
    18: Api(18, "ApiVersions", "api_versions", 0, 4, 3, False),
    19: Api(19, "CreateTopics", "create_topics", 2, 7, 5, False),
    20: Api(20, "DeleteTopics", "delete_topics", 1, 6, 4, False),
    21: Api(21, "DeleteRecords", "delete_records", 0, 2, 2, False),
    22: Api(22, "InitProducerId", "init_producer_id", 0, 6, 2, True),
    23: Api(23, "OffsetForLeaderEpoch", "offset_for_leader_epoch", 2, 4, 4, False),
    32: Api(32, "DescribeConfigs", "describe_configs", 1, 4, 4, False),
    33: Api(33, "AlterConfigs", "alter_configs", 0, 2, 2, False),
    35: Api(35, "DescribeLogDirs", "describe_log_dirs", 1, 5, 2, False),
    37: Api(37, "CreatePartitions", "create_partitions", 0, 3, 2, False),
    42: Api(42, "DeleteGroups", "delete_groups", 0, 2, 2, False),
    43: Api(43, "ElectLeaders", "elect_leaders", 0, 2, 2, False),
    44: Api(44, "IncrementalAlterConfigs", "incremental_alter_configs", 0, 1, 1, False),
    47: Api(47, "OffsetDelete", "offset_delete", 0, 0, 1, False),
    55: Api(55, "DescribeQuorum", "describe_quorum", 0, 2, 0, False),
    60: Api(60, "DescribeCluster", "describe_cluster", 0, 2, 0, False),
    61: Api(61, "DescribeProducers", "describe_producers", 0, 0, 0, False),
    68: Api(68, "ConsumerGroupHeartbeat", "consumer_group_heartbeat", 0, 1, 0, False),
    69: Api(69, "ConsumerGroupDescribe", "consumer_group_describe", 0, 1, 0, False),
    74: Api(74, "ListConfigResources", "list_config_resources", 0, 1, 0, False),
    75: Api(75, "DescribeTopicPartitions", "describe_topic_partitions", 0, 0, 0, False),
}

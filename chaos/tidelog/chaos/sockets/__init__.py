"""A run on sockets: node processes behind Toxiproxy, watched, calmed and judged.

run, run_plan            one run from start to verdict; begin here
cluster, node, node_*    node processes, each behind proxies for all its links
toxiproxy, proxies, wiring, path_toxics   Toxiproxy's server and its toxics
cluster_port, clients     the ports of stories and of clients
group_members, member*    members of a story's group, as tasks or as processes of their own
inspect, inspector, sampler, sample_*, watch   samples of live nodes, and what they must be
replica_files            the nodes' files after the end, compared
evidence, verdict, settling, recording, summary, ledger   what is judged, and where it is kept
grpc_*, port_strangers, unread_callers, wide_callers   hostile callers
foreign_data             foreign nodes
disks, sync_latency, cpu_share   small disks, slow disks, a busy processor
child, guardian          processes that end with the run, whatever happens to it
"""

"""The Raft suite: voters under faults, on virtual time.

seed_run    one seed from start to end; begin here
simulation, machine, network, disk, simulation_config   voters, their machines, what a seed draws
workload, service, linearizability            clients, and the check of what they saw
faults, fault_actions, election_faults, chosen_leaders   what strikes, and when
overload, late_words, short_moments, strangers           faults of one moment or kind
checks, log_checks, state_checks, disk_checks, wire_checks, election_checks, contact_checks
suite, coverage                               what `tidelog sim` runs, and what it must have met
"""

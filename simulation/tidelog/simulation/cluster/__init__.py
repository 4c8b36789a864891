"""The cluster suite: whole nodes under faults, on virtual time.

seed_run    one seed from start to end; begin here
cluster     nodes built by the product's own composition root
simulation, simulation_config, budget_view, coverage   what a seed draws; what may fail at once
faults, fault_actions, machine_faults, rack_faults, replica_faults, endless_faults, late_calls,
    clones, lasting_faults
inside, invariants, invariants_*        the insides of nodes, and what must hold in each step
cluster, scenarios                       chaos's stories on virtual time
"""

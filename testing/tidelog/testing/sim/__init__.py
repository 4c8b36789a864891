"""The user's test in a simulated cluster: one seed is one order of all events and faults.

A seed run, outermost first, each file a step:

    decorator     pytest's side: which seeds, which options, what a failure shows
    runs          seed after seed; each failing one again, and with fewer faults
    seed_run      one seed: a target, the test in it, its outcome
    simulation    what the test holds: nodes, processes, faults, clocks, checks
    storm, target  the strikes of a seed, drawn before it begins; the cluster that they strike
    recording     what clients sent and read, at their edge; `verdict` judges it
    surroundings  time, chance, threads and sockets of the Python process, while a seed runs
"""

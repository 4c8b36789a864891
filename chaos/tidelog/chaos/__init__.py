"""Chaos: faults strike a cluster of real processes behind Toxiproxy, and its promises are judged.

    tidelog chaos list             the scenarios
    tidelog chaos run F01          kill a leader under load; a report in .chaos

    scenarios/   the stories, 10 to 25 lines each; docs/chaos/README.md lists them
    faults/      faults: kills, pauses, partitions, toxics, full and torn disks
    story/       a story's verbs: waits and expectations; the port of the cluster under it
    workloads/   the clients that run meanwhile, good and hostile
    invariants/  invariants of images, replicas and logs, for every kind of run
    sockets/     the cluster of processes, Toxiproxy, samples of nodes, the verdict
    report/      the page of a run: HTML and SVG without a script from elsewhere
    topology     nodes and the links between them; node_inside: the insides of a live node

The same stories run on virtual time in `simulation`. What clients saw is judged by `history`.

Imports: `node`, `client`, `history` and what is below them.
"""

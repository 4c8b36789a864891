"""A job that turns JSON records of topics into partitioned Parquet, run after run, each once.

`settings` is what it is told (`tidelog pipeline --help`), `plan` decides what a run covers, `runs`
is the log of runs that makes it atomic, `frames` is what Spark does to the records, `job` puts them
together, and `ship` gives this package to the executors of a cluster.
"""

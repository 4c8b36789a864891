"""A job that writes JSON records of topics to partitioned Parquet, incrementally, each once.

`settings` parses its options (`tidelog pipeline --help`), `plan` decides the offsets of a run,
`runs` is the log of runs that makes a run atomic, `frames` processes the records with Spark, `job`
runs these steps, and `ship` sends this package to the executors of a cluster.
"""

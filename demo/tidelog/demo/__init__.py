"""The demo: load the flights of 2013, kill a leader half-way, read all back with Spark.

run           the demo, step by step; begin here
flights       the input, and the answer to expect
load          every flight with acks=all, while a leader is killed
cluster       the cluster's nodes: start, find the busiest leader, kill, restart
spark_job     Spark's job in a process of its own; flights_job: the job
report        the table and the chart; errors: `DemoError`
"""

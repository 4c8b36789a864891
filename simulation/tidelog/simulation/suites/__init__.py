"""Suites of seeds: split over processes, summed, kept in a ledger.

suite     what a suite is, its runs over worker processes, its sums
worker    one worker process
findings  violations, coverage and counts of a seed
timeline  what happened in one seed, for people
ledger    the append-only record of runs
"""

"""Tests, in the rooms of the code they test; helpers lie beside the tests that use them.

    core … cli     pure tests of each package, in parallel
    sim            whole nodes on virtual time
    integration    real processes; spark: Java
    benchmarks     measurements with JSON output, and soaks
    testdata       golden files

A helper is imported by its full name: `from tests.client.real_cluster import RealCluster`.
"""

#!/usr/bin/env bash
# prove.sh: the long proofs on fresh seeds, some hours; every run of seeds or scenarios is a line in docs/ledger.
# FIRST=N repeats the seeds from N on. RAFT, SECOND, CLUSTER: number of seeds of the Raft suite, of the same
# with the second engine (and a tenth as many whole clusters), and of the cluster suite; GROUPS_SEEDS of the
# groups suite, WIRE of the wire suite, TRANSACTIONS of the transactions suite; 0 skips a suite.
# MUTANTS=0, CHAOS=0 and LONG=0 skip these; LONG are the tests that are too long for `make test`,
# and those that take turns there.
# Every proof runs; the script fails if one of them failed.
set -uo pipefail
cd "$(dirname "$0")/.."
first=${FIRST:-$(date +%s)}
failed=0
trap 'exit 130' INT

prove() {
  echo "prove: tidelog $*"
  .venv/bin/tidelog "$@" || failed=1
}

seeds() { # seeds NUMBER [options of `tidelog sim run`]
  local number=$1
  shift
  [ "$number" = 0 ] || prove sim run --seeds "$first:$((first + number))" --ledger docs/ledger/sim.jsonl "$@"
}

seeds "${RAFT:-2500}" --suite raft
seeds "${SECOND:-500}" --suite raft --engine pysyncobj
seeds "$((${SECOND:-500} / 10))" --suite cluster --engine pysyncobj
seeds "${CLUSTER:-1000}" --suite cluster
seeds "${GROUPS_SEEDS:-1000}" --suite groups
seeds "${WIRE:-500}" --suite wire
seeds "${TRANSACTIONS:-1000}" --suite transactions
if [ "${MUTANTS:-1}" != 0 ]; then
  prove sim mutants --suite raft --seeds "$first:$((first + 100))"
  prove sim mutants --suite cluster --seeds "$first:$((first + 100))"
  prove sim mutants --suite groups --seeds "$first:$((first + 100))"
  prove sim mutants --suite wire --seeds "$first:$((first + 100))"
  prove sim mutants --suite transactions --seeds "$first:$((first + 100))"
fi
if [ "${CHAOS:-1}" != 0 ]; then
  prove chaos run all --seed "$first" --ledger docs/ledger/chaos.jsonl
  prove chaos run F55 F56 F58 --full --seed "$first"
  prove chaos run F01 F03 F12 F40 F45 F53 --client kafka --seed "$first" \
    --ledger docs/ledger/chaos-kafka.jsonl
  prove chaos run F01 F12 F22 --engine pysyncobj --seed "$first"
  prove chaos mutants
fi
if [ "${LONG:-1}" != 0 ]; then
  .venv/bin/python -m pytest -n 0 -k once_failed --every-kept-seed tests/raft/test_raft_sim.py tests/sim || failed=1
  .venv/bin/python -m pytest -n 0 --every-turn -m "(long or turns) and not spark" || failed=1
  .venv/bin/python -m tests.benchmarks.kafka_soak --minutes 10 --seed "$first" || failed=1
  .venv/bin/python -m pytest -n 0 --every-turn -m "(long or turns) and spark" || failed=1
fi
exit "$failed"

#!/usr/bin/env bash
# spark.sh [options of `tidelog pipeline`]: run the pipeline on the cluster of this checkout. Without options it
# runs on a sample: it first sends orders, some of them bad; the next run sends more and continues from there.
set -euo pipefail
cd "$(dirname "$0")/.."
tidelog=.venv/bin/tidelog
sample=sample-orders
count=5000

# JSON lines. Of 100, one is not JSON, one has an amount that is not a number, one has no id.
orders() {
  awk -v run="$(date +%s)" -v count="$count" 'BEGIN {
    split("north east south west", shops, " ")
    for (n = 1; n <= count; n++) {
      id = n % 100 == 1 ? "" : "\"id\": \"" run "-" n "\", "
      amount = n % 100 == 2 ? "\"many\"" : n * 7919 % 10000 / 100
      end = n % 100 == 3 ? "" : "}"
      print "{" id "\"shop\": \"" shops[n % 4 + 1] "\", \"amount\": " amount end
    }
  }'
}

case "$*" in
  *--bootstrap*) ;;
  *) $tidelog cluster start >&2 ;;
esac
if [ $# -eq 0 ]; then
  $tidelog topics list --names | grep -x "$sample" >/dev/null ||
    $tidelog topics create "$sample" --partitions 3 --replication-factor 3 >&2
  echo "spark: sending $count orders to $sample, 3 in 100 of them bad" >&2
  orders | $tidelog produce "$sample"
  set -- --topic "$sample" --schema "id string NOT NULL, shop string, amount double" \
    --partition-by shop --output ".data/$sample"
fi
PS4='spark: '
set -x
$tidelog pipeline "$@"

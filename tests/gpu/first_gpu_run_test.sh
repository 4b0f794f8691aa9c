#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# scripts/first-gpu-run with fake programs: each part runs even if another fails, the page counts them, and a machine without a GPU is
# reported. On a GPU the script itself is the test.
set -euo pipefail
script=$1/first-gpu-run
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bin=$work/cuda/bin
mkdir -p "$bin"
fail() {
  echo "$*" >&2
  cat "$work/said" >&2
  exit 1
}

cat >"$bin/plumbline" <<'STUB'
#!/usr/bin/env bash
case $1 in
  doctor) cat "$(dirname "$0")/doctor" ;;
  sweep)
    mkdir -p "$4/cells/one/rank-0"
    echo page >"$4/report.html"
    echo '{"cells": [{"holds": true}, {"holds": false}]}' >"$4/verdict.json"
    echo '{"transport": "threads"}' >"$4/cells/one/manifest.json"
    printf 'step,requested_peak_bytes,reserved_peak_bytes,reserved_bytes,free_bytes,total_bytes\n0,1,2,1048576,4194304,8388608\n' >"$4/cells/one/rank-0/gpu_memory.csv"
    [[ $2 != */gpu.toml ]] ;;
  bench) echo "12 ms a step" ;;
esac
STUB
printf '#!/bin/sh\necho "ratio 1.25"\n' >"$bin/deterministic_step"
printf '#!/bin/sh\n' >"$bin/plumbline-pipeline"
printf '#!/bin/sh\necho "$@"\n' >"$bin/plumbline-reference"
touch "$bin/plumbline-gpu.so"
chmod +x "$bin"/*

echo '  can: ["sweep over commands"]' >"$bin/doctor"
code=0
PLUMBLINE_BIN=$bin "$script" "$work/out" >"$work/said" 2>&1 || code=$?
((code == 3)) || fail "without a GPU the exit code is $code"
grep -q 'no GPU that can be used' "$work/said" || fail "it is not said that there is no GPU"

echo '  can: ["train on one GPU (--device cuda)"]' >"$bin/doctor"
mkdir "$work/mine" && touch "$work/mine/precious"
code=0
PLUMBLINE_BIN=$bin "$script" "$work/mine" >"$work/said" 2>&1 || code=$?
((code == 2)) || fail "a folder that holds something else is not refused ($code)"
[[ -e $work/mine/precious ]] || fail "what lay there is gone"
code=0
PLUMBLINE_BIN=$bin "$script" "$work/out" >"$work/said" 2>&1 || code=$?
((code == 1)) || fail "with a sweep that does not hold the exit code is $code"
for part in goldens gpu threads bench deterministic; do
  grep -q "^$part," "$work/out/parts.csv" || fail "there is no part $part"
done
grep -q -- '--device cuda --golden .*hf_golden/two_tokens' "$work/out/goldens.txt" || fail "the goldens were not given"
for words in '1 of 2 cases hold' 'exit code 1' '12 ms a step' 'ratio 1.25' '<td>threads</td><td>1</td><td>3</td><td>3 to 3</td>'; do
  grep -qF "$words" "$work/out/index.html" || fail "the page lacks: $words"
done
[[ ! -e $work/out/work && -e $work/out/gpu/report.html ]] || fail "records stay, or pages do not"

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
# record FOLDER TRANSPORT GPU...: a record with a rank on each GPU; 8 MiB per GPU, 4 of them free, 1 for each rank. GPU -: an older build
record() {
  local folder=$1 rank=0 gpu
  mkdir -p "$folder"
  echo "{\"transport\": \"$2\"}" >"$folder/manifest.json"
  for gpu in "${@:3}"; do
    mkdir -p "$folder/rank-$rank"
    printf 'step,requested_peak_bytes,reserved_peak_bytes,reserved_bytes,free_bytes,total_bytes\n0,1,2,1048576,4194304,8388608\n' >"$folder/rank-$rank/gpu_memory.csv"
    [[ $gpu == - ]] || echo "{\"gpu\": \"$gpu\"}" >"$folder/rank-$rank/machine.json"
    rank=$((rank + 1))
  done
}
case $1 in
  doctor)
    if [[ ${2:-} == --ctest-resources ]]; then
      echo '{"version": {"major": 1, "minor": 0}, "local": [{"gpus": [{"id": "0", "slots": 1}, {"id": "1", "slots": 1}]}]}' >"$3"
    else
      cat "$(dirname "$0")/doctor"
    fi ;;
  sweep)
    record "$4/cells/one" threads -
    case $2 in
      */quick.toml) record "$4/cells/shared" mpi GPU-1 GPU-1 && record "$4/cells/old" mpi - - - ;;
      */nccl.toml) record "$4/cells/nccl" nccl GPU-1 GPU-2 GPU-3 GPU-4 && cp "$2" "$(dirname "$0")/nccl.toml" ;;
      */replicas.toml) record "$4/cells/two/replica-0" nccl GPU-1 GPU-2 && record "$4/cells/two/replica-1" nccl GPU-1 GPU-2 GPU-2 ;;
    esac
    echo page >"$4/report.html"
    echo '{"cases": [{"holds": true}, {"holds": false}]}' >"$4/verdict.json"
    [[ $2 != */gpu.toml ]] ;;
esac
STUB
printf '#!/bin/sh\necho "ratio 1.25"\n' >"$bin/deterministic_step"
printf '#!/bin/sh\n' >"$bin/plumbline-pipeline"
printf '#!/bin/sh\necho "$@"\n' >"$bin/plumbline-golden"
touch "$bin/plumbline-gpu.so"
mkdir "$work/tools"
printf '#!/bin/sh\nprintf "GPU-%%s\\n" 1 2 3 4\n' >"$work/tools/nvidia-smi"
# Like MPICH's mpirun, which has no -x.
printf '#!/bin/sh\ncase " $* " in *" -x "*) echo "unrecognized argument x"; exit 1 ;; esac\necho "debug=$NCCL_DEBUG of $NCCL_DEBUG_SUBSYS"\n' >"$work/tools/mpirun"
printf '#!/bin/sh\ncase $1 in *speed.py) echo "12 ms a step" ;; *) exec %s "$@" ;; esac\n' "$(command -v python3)" >"$work/tools/python3"
export PATH=$work/tools:$PATH
chmod +x "$bin"/* "$work/tools"/*

echo '  can: ["sweep over commands"]' >"$bin/doctor"
code=0
PLUMBLINE_BIN=$bin "$script" "$work/out" >"$work/said" 2>&1 || code=$?
((code == 3)) || fail "without a GPU the exit code is $code"
grep -q 'this machine has no usable GPU' "$work/said" || fail "the output does not say that there is no GPU"

echo '  can: ["train on one GPU (--device cuda)"]' >"$bin/doctor"
mkdir "$work/mine" && touch "$work/mine/precious"
code=0
PLUMBLINE_BIN=$bin "$script" "$work/mine" >"$work/said" 2>&1 || code=$?
((code == 2)) || fail "a folder with other content is not refused ($code)"
[[ -e $work/mine/precious ]] || fail "a file in the folder is gone"
code=0
PLUMBLINE_BIN=$bin "$script" "$work/out" >"$work/said" 2>&1 || code=$?
((code == 1)) || fail "with a sweep that does not hold the exit code is $code"
for part in goldens gpu threads nccl replicas nccl-log bench deterministic; do
  grep -q "^$part," "$work/out/parts.csv" || fail "there is no part $part"
done
grep -q -- '--device cuda .*hf_golden/two_tokens' "$work/out/goldens.txt" || fail "the goldens were not given"
grep -q '^world_sizes = \[2\]$' "$bin/nccl.toml" || fail "the two usable GPUs are not used: $(grep world_sizes "$bin/nccl.toml")"
grep -q 'debug=INFO of INIT' "$work/out/nccl-log.txt" || fail "NCCL's log is not requested: $(cat "$work/out/nccl-log.txt")"
# Of 4 MiB in use on a GPU each of its ranks has one, however many GPUs there are.
for words in '1 of 2 cases hold' 'exit code 1' '12 ms a step' 'ratio 1.25' '<td>threads</td><td>1</td><td>5</td><td>3 to 3</td><td>3</td>' \
  '<td>mpi</td><td>2</td><td>1</td><td>2 to 2</td><td>1</td>' '<td>mpi</td><td>3</td><td>1</td><td>unknown</td><td>unknown</td>' \
  '<td>nccl</td><td>4</td><td>1</td><td>3 to 3</td><td>3</td>' '<td>nccl</td><td>5</td><td>1</td><td>1 to 2</td><td>1</td>'; do
  grep -qF "$words" "$work/out/index.html" || fail "the page lacks: $words"
done
[[ ! -e $work/out/work && -e $work/out/gpu/report.html ]] || fail "records stay, or pages do not"

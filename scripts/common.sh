# SPDX-License-Identifier: BSD-3-Clause
# Shared by the scripts: folders, messages, signs of progress. Source it, do not run it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
state=.deps # git-ignored: LibTorch, what the system lacks, and logs of the set-up
[[ :$PATH: == *":$PWD/$state/tools/bin:"* ]] || PATH=$PWD/$state/tools/bin:$PATH # CMake, Ninja and MPI, if scripts/dependencies installed them

# Compiled Python goes into its own folder. Without it, every process that imports torch compiles it for seconds.
unset PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX=$PWD/$state/bytecode

say() { printf 'plumbline: %s\n' "$*"; }

# fail CODE LINE...: 2 = the user can fix it, 3 = the machine did not allow it.
fail() {
  local code=$1
  shift
  printf 'plumbline: %s\n' "$@" >&2
  exit "$code"
}

# logged NAME COMMAND...: writes output to .deps/NAME.log, prints one line of it every 15 s, and its end if the command fails.
# The command stays in the foreground, so that Ctrl-C reaches it.
logged() {
  local log=$state/$1.log
  shift
  "$@" 2>&1 </dev/null | tee "$log" | {
    local start=$SECONDS last=$SECONDS line
    while IFS= read -r line; do
      if ((SECONDS - last >= 15)); then
        last=$SECONDS
        printf '  %4d s  %.100s\n' $((last - start)) "$line"
      fi
    done
  } && return 0
  say "this failed: $*" "(whole log: $log, its end:)" >&2
  tail -n 15 "$log" >&2
  return 1
}

# pypi LOG PYTHON OPTION...: pip install of that Python. If PyPI does not provide something, the script ends with advice ($instead: another way). Modules
# are compiled at their first import: only a hundredth of transformers is used.
pypi() {
  local log=$1 python=$2 option
  local -a asked=()
  shift 2
  logged "$log" "$python" -m pip install --no-input --no-cache-dir --no-compile --disable-pip-version-check --root-user-action=ignore "$@" && return 0
  for option in "$@"; do [[ $option == -[!r]* ]] || asked+=("$option"); done
  fail 3 "PyPI did not provide ${asked[*]}" "If it cannot be reached, name a mirror (PIP_INDEX_URL)${instead:+, or $instead}." \
    "Then run this again; it continues where it stopped."
}

# cached BUILD NAME: an entry of CMake's cache there; empty if there is none.
cached() { sed -n "s/^$2:[A-Z]*=//p" "$1/CMakeCache.txt" 2>/dev/null || true; }

# follow BUILD: if the environment does not set LibTorch_ROOT, MPI_HOME, CC or CXX, uses those with which BUILD was configured.
follow() {
  local name value
  local -A entries=([LibTorch_ROOT]=LibTorch_ROOT [MPI_HOME]=MPI_HOME [CC]=CMAKE_C_COMPILER [CXX]=CMAKE_CXX_COMPILER)
  for name in "${!entries[@]}"; do
    value=${!name:-$(cached "$1" "${entries[$name]}")}
    if [[ -z $value || $name == MPI_HOME && $value == "$PWD/$state/tools" ]]; then # scripts/dependencies knows it
      unset "$name"
      continue
    fi
    [[ $name == C* ]] || value=$(realpath -ms "$value")
    export "$name=$value"
  done
}

# nproc would use OMP_NUM_THREADS as the number of cores.
cores() { env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc; }

# One job per core, and about 1.3 GB of memory per job: a file that includes LibTorch's headers takes up to that.
jobs() {
  [[ -n ${JOBS:-} ]] && { echo "$JOBS"; return; }
  local cores memory limit n
  cores=$(cores)
  memory=$(awk '/^MemAvailable:/ {print int($2 / 1024)}' /proc/meminfo)
  limit=$(cat /sys/fs/cgroup/memory.max 2>/dev/null || echo max)
  [[ $limit =~ ^[0-9]+$ ]] && ((limit / 1048576 < memory)) && memory=$((limit / 1048576))
  n=$((memory / 1300))
  ((n > cores)) && n=$cores
  ((n < 1)) && n=1
  echo "$n"
}

# compile OPTION...: cmake --build with this many jobs.
compile() {
  local n
  n=$(jobs)
  say "compiling, $n at a time (minutes the first time, then only what changed)"
  NINJA_STATUS='[%f/%t, %e s] ' CMAKE_BUILD_PARALLEL_LEVEL=$n cmake --build "$@" # a folder must come first, options of ninja last
}

// SPDX-License-Identifier: BSD-3-Clause
#include "tests/harness/fake_programs.hpp"

namespace plumbline::testing {

namespace fs = std::filesystem;

namespace {

/// Offsets as docs/record-format.md gives them for `progress`.
const char* const shell_functions = R"(#!/bin/bash
little_endian() { local v=$1 n=$2 text= one i; for ((i = 0; i < n; i++)); do printf -v one '\\x%02x' $((v & 255)); text+=$one; v=$((v >> 8)); done; printf "$text"; }
page() {
  local folder=$1/rank-$2; mkdir -p "$folder"
  { printf PLMBPRG1; little_endian 2 8; little_endian $3 8; little_endian 0 8; little_endian $4 4; little_endian 0 4
    little_endian 0 8; little_endian 0 8; little_endian ${6:-$BASHPID} 4; printf %s "$5"; } > "$folder/progress.new"
  truncate -s 4096 "$folder/progress.new"; mv "$folder/progress.new" "$folder/progress"
}
ended() {
  mkdir -p "$1/rank-$2"
  printf '{"rank": %s, "status": "%s", "code": %s, "signal": null, "last_action": "0STEP"}\n' $2 $3 $4 > "$1/rank-$2/exit.new"
  mv "$1/rank-$2/exit.new" "$1/rank-$2/exit.json"
}
looked_at() {
  local r glances=${0%/*}/glances # not there before the first glance
  for ((r = 0; r < $2; r++)); do until [[ -e $1/rank-$r/progress ]]; do sleep 0.02; done; done
  local before=$(cat "$glances" 2>/dev/null | wc -c)
  until (($(cat "$glances" 2>/dev/null | wc -c) >= before + 2)); do sleep 0.02; done
}
)";

}  // namespace

fs::path program(const TemporaryFolder& folder, const std::string& name, const std::string& body) {
  const fs::path path = folder.file(name, shell_functions + body);
  fs::permissions(path, fs::perms::owner_all);
  return path;
}

std::string fake_mpirun() {
  return R"(
[ "$1" = -n ] || exit 9
ranks=$2; shift 2
declare -A rank_of
for ((r = 0; r < ranks; r++)); do FAKE_RANK=$r setsid "$@" & rank_of[$!]=$r; done
code=0
for ((r = 0; r < ranks; r++)); do
  wait -n -p pid; one=$?
  if [ -z "$pid" ]; then # if two end at once, bash 5.2 reports only one and keeps the status of the other
    for pid in "${!rank_of[@]}"; do kill -0 $pid 2> /dev/null || break; done
    wait $pid; one=$?
  fi
  rank=${rank_of[$pid]}; unset "rank_of[$pid]"
  if ((one != 0 && code == 0)); then
    code=$one
    ((one > 128)) && echo "mpirun noticed that process rank $rank with PID 0 on node here exited on signal $((one - 128)) (Killed)." >&2
    ((one <= 128)) && echo "mpirun detected that one or more processes exited with non-zero status" >&2
    for other in "${!rank_of[@]}"; do kill -TERM $other 2> /dev/null; done
  fi
done
exit $code
)";
}

void forget_processes(const std::filesystem::path& folder) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().filename() == "progress") std::filesystem::resize_file(entry.path(), 0);
  }
}

}  // namespace plumbline::testing

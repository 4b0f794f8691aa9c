#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# compile_test.sh SCRIPTS: the function `compile` of scripts/common.sh, in its own project: with a folder, which cmake expects first, and with a
# preset, and with options for ninja at the end.
set -euo pipefail
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir "$tree/scripts"
cp "$1/common.sh" "$tree/scripts"
cd "$tree"
cat >CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.25)
project(two NONE)
add_custom_target(fails ALL COMMAND false)
add_custom_target(works ALL COMMAND ${CMAKE_COMMAND} -E touch works)
END
cat >CMakePresets.json <<'END'
{"version": 6, "configurePresets": [{"name": "p", "generator": "Ninja", "binaryDir": "${sourceDir}/made"}],
 "buildPresets": [{"name": "p", "configurePreset": "p"}]}
END
cmake --preset p >log
export JOBS=1
source scripts/common.sh

builds() { # COMMAND...: must make `works`, with any exit code
  rm -f made/works
  "$@" >log 2>&1 || true
  [[ -e made/works ]] || { echo "$*: did not build:" && cat log && exit 1; }
}
builds compile made --target works
builds compile --preset p --target works
builds compile made -- -k 0
builds compile --preset p -- -k 0
! compile made --target fails >log 2>&1 || { echo "a failed build is not reported" && exit 1; }

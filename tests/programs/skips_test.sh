#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# skips_test.sh SOURCE: scripts/skips on made-up results: which skips fail, and that it names the slowest tests.
set -euo pipefail
source=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/allowed" <<'END'
kind this    true
run  this    install that
kind another false
skip this    room.Case.*
skip this    Inner.Allowed
skip another room.Other
END
export ALLOWED_SKIPS=$work/allowed

testcase() { printf '\t<testcase name="%s" classname="%s" time="%s" status="run">\n%s\t</testcase>\n' "$1" "$1" "$2" "${3:-}"; }
skipped=$'\t\t<skipped message="SKIP_RETURN_CODE=77"/>\n'
says() { printf '\t\t<system-out>[ RUN      ] %s\n[  SKIPPED ] %s (0 ms)\n[  PASSED  ] 0 tests.\n[  SKIPPED ] 1 test, listed below:\n[  SKIPPED ] %s\n</system-out>\n' "$1" "$1" "$1"; }
# expect CODE WORDS TESTCASES
expect() {
  printf '<testsuite name="x">\n%s\n</testsuite>\n' "$3" >"$work/junit.xml"
  local code=0 said
  said=$("$source/scripts/skips" "$work" 2>&1) || code=$?
  [[ $code == "$1" && $said == *"$2"* ]] || { echo "expected $1 and '$2' of:" "$3" "and got $code:" "$said" && exit 1; }
}
expect 0 "12.5  room.Slow" "$(testcase room.Quick 0.01; testcase room.Slow 12.5)"
expect 0 "skipped (this): room.Case.A&B" "$(testcase 'room.Case.A&amp;B' 0 "$skipped")"
expect 0 "to have the 2 skipped for this run: install that" "$(testcase room.Case.A 0 "$skipped"; testcase room.Case.B 0 "$skipped")"
expect 1 "  room.Unknown" "$(testcase room.Case.A 0 "$skipped"; testcase room.Unknown 0 "$skipped")"
expect 1 "  room.Other" "$(testcase room.Other 0 "$skipped")" # allowed only on machines of another kind
expect 0 "skipped (this): Inner.Allowed" "$(testcase room.1 0 "$(says Inner.Allowed)")"
expect 1 "  Inner.Unknown" "$(testcase room.1 0 "$(says Inner.Unknown)")" # within a CTest test of many, which passes
slow=$(for n in {2..12}; do testcase "room.N$n" "$n"; done)
expect 0 "  12.0  room.N12" "$slow"
slowest=$("$source/scripts/skips" "$work" | sed -n 's/.*  room.N//p' | paste -sd ' ')
[[ $slowest == "12 11 10 9 8 7 6 5 4 3" ]] || { echo "not the ten slowest: $slowest" && exit 1; }
many=$(for n in {1..3000}; do testcase "room.WhatIsMoreThanAPipeHoldsWhereItsReaderHasGone/$n" "$n"; done)
expect 0 "3000.0  room.What" "$many"

# An unknown kind fails, and so do missing results.
echo "skip forgotten room.Kind" >>"$work/allowed"
expect 2 "unknown kind forgotten" "$(testcase room.Kind 0 "$skipped")"
code=0
"$source/scripts/skips" "$work/none" >/dev/null 2>&1 || code=$?
[[ $code != 0 ]] || { echo "a folder without results passes" && exit 1; }

# The list itself: each of its kinds is defined, and its command runs.
unset ALLOWED_SKIPS
kinds=$(sed -n 's/^skip  *\([^ ]*\) .*/\1/p' "$source/tests/allowed-skips" | sort -u)
[[ $kinds == "$(sed -n 's/^run  *\([^ ]*\) .*/\1/p' "$source/tests/allowed-skips" | sort)" ]] || { echo "tests/allowed-skips: a kind has no line that says how to run its tests" && exit 1; }
[[ $kinds == "$(sed -n 's/^kind  *\([^ ]*\) .*/\1/p' "$source/tests/allowed-skips" | sort -u)" ]] || { echo "kinds and skips of tests/allowed-skips differ" && exit 1; }
while read -r command; do
  bash -n <<<"$command" || { echo "tests/allowed-skips: $command" && exit 1; }
done < <(sed -n 's/^kind  *[^ ]*  *//p' "$source/tests/allowed-skips")

#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# nightly_test.sh SCRIPTS: scripts/nightly in a tree of its own, where what two of its parts call only notes that it was called.
set -euo pipefail
scripts=$1
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
cd "$tree"
mkdir scripts
cp "$scripts"/{nightly,common.sh,mpi.sh} scripts
printf '#!/bin/bash\ntrue\n' >scripts/build
printf '#!/bin/bash\necho fuzz >>calls\n' >scripts/fuzz
printf '#!/bin/bash\necho witness >>calls\n[[ ! -e broken ]]\n' >scripts/witness
chmod +x scripts/*
printf 'build\ncalls\nbroken\n' >.gitignore
git init -q .
commit() { git add -A && git -c user.name=n -c user.email=e commit -q --allow-empty -m "$1"; }
commit first

# expect CODE CALLS WORDS COMMAND...: how it ends, what was called, what it says.
expect() {
  local wanted=$1 calls=$2 words=$3 code=0 said
  shift 3
  : >calls
  said=$("$@" 2>&1) || code=$?
  [[ $code == "$wanted" && $(tr '\n' ' ' <calls) == "$calls" && $said == *"$words"* ]] ||
    { echo "$*: expected $wanted, '$calls' and '$words'; got $code, '$(tr '\n' ' ' <calls)' and:" "$said" && exit 1; }
}
expect 2 "" "there is no part fuz; known: headers alone asan" scripts/nightly fuz
expect 0 "fuzz " "nightly: fuzz holds" scripts/nightly fuzz
expect 0 "" "fuzz held at this state" scripts/nightly fuzz
expect 0 "witness " "witness holds" env PART="fuzz witness" scripts/nightly
expect 0 "fuzz " "fuzz holds" env AGAIN=1 scripts/nightly fuzz
echo changed >file # not committed
expect 0 "fuzz " "fuzz holds" scripts/nightly fuzz
commit second
touch broken
expect 1 "witness fuzz " "these parts failed: witness" scripts/nightly witness fuzz
expect 1 "witness " "fuzz held" scripts/nightly fuzz witness # the one that failed again, the other not
rm broken
expect 0 "witness " "all of it holds" scripts/nightly fuzz witness
grep -q . build/nightly/witness.held || { echo "no time was kept" && exit 1; }

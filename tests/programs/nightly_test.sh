#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# nightly_test.sh SCRIPTS: scripts/nightly in its own tree, where the commands of some parts only log that they were called.
set -euo pipefail
scripts=$1
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
cd "$tree"
mkdir scripts
cp "$scripts"/{nightly,common.sh,mpi.sh} scripts
printf '#!/bin/bash\ntrue\n' >scripts/build
printf '#!/bin/bash\necho fuzz >>calls\n' >scripts/fuzz
printf '#!/bin/bash\necho gpu >>calls\n[[ ! -e broken ]]\n' >scripts/gpu-tests
chmod +x scripts/*
# For the part versions: every torch exists, and every LibTorch compiles.
printf '#!/bin/bash\necho examples >>calls\n' >scripts/examples
printf '#!/bin/bash\necho debian >>calls\n[[ ! -e broken ]]\n' >scripts/bare-debian
cat >scripts/torch-python <<'END'
#!/bin/bash
mkdir -p .deps/torch-$1/{bin,lib/python3.11/site-packages/torch} build/libtorch-$1/bin
ln -sf "$(type -P true)" .deps/torch-$1/bin/python
ln -sf "$(type -P true)" build/libtorch-$1/bin/plumbline
END
mkdir bin
printf '#!/bin/bash\n[[ $* != *index* ]] || echo "torch (2.15.0)"\n[[ $* != *libtorch-2* ]] || echo "read" >>calls\n' >bin/python3
ln -s "$(type -P true)" bin/cmake
chmod +x scripts/* bin/python3
printf 'build\n.deps\ncalls\nbroken\n' >.gitignore
git init -q .
commit() { git add -A && git -c user.name=n -c user.email=e commit -q --allow-empty -m "$1"; }
commit first

# expect CODE CALLS WORDS COMMAND...: the exit code, the calls, and a part of the output.
expect() {
  local wanted=$1 calls=$2 words=$3 code=0 said
  shift 3
  : >calls
  said=$("$@" 2>&1) || code=$?
  [[ $code == "$wanted" && $(tr '\n' ' ' <calls) == "$calls" && $said == *"$words"* ]] ||
    { echo "$*: expected $wanted, '$calls' and '$words'; got $code, '$(tr '\n' ' ' <calls)' and:" "$said" && exit 1; }
}
expect 2 "" "unknown part fuz; known: headers alone asan" scripts/nightly fuz
expect 0 "fuzz " "nightly: fuzz holds" scripts/nightly fuzz
expect 0 "" "fuzz passed for this tree" scripts/nightly fuzz
expect 0 "gpu " "gpu holds" env PART="fuzz gpu" scripts/nightly
expect 0 "fuzz " "fuzz holds" env AGAIN=1 scripts/nightly fuzz
echo changed >file # not committed
expect 0 "fuzz " "fuzz holds" scripts/nightly fuzz
commit second
touch broken
expect 1 "gpu fuzz " "these parts failed: gpu" scripts/nightly gpu fuzz
expect 1 "gpu " "fuzz passed" scripts/nightly fuzz gpu # only the failed one runs again
rm broken
expect 0 "gpu " "all parts passed" scripts/nightly fuzz gpu
# Steps that passed do not run again, unless all must.
PATH=$tree/bin:$PATH
before="examples examples examples read read read " # read: versions between the oldest LibTorch and the newest
touch broken
expect 1 "${before}debian debian " "  Debian trixie" scripts/nightly versions
rm broken
expect 0 "debian debian " "the headers of LibTorch 2.13.0: passed" scripts/nightly versions
expect 0 "${before}debian debian " "versions holds" env AGAIN=1 scripts/nightly versions
grep -q . build/nightly/gpu.held || { echo "the time was not saved" && exit 1; }

#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# release_test.sh SCRIPTS: make release must refuse everything except a clean tag of the version, for which it writes archive, wheel and checksums.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp -r "$1" "$folder/scripts" && cd "$folder"
mkdir -p python/plumbline
echo 9.8.7 >VERSION
echo '__version__ = "9.8.6"' >python/plumbline/version.py
printf '# Changelog\n\n## [Unreleased]\n' >CHANGELOG.md
printf '/build/\n/.deps/\n' >.gitignore
printf '#!/bin/sh\nmkdir -p build/wheel && echo wheel >build/wheel/plumbline-9.8.7-py3-none-any.whl\n' >scripts/wheel
git init -q .
commit() { git add . && git -c user.name=t -c user.email=t@t commit -qm "$1"; }
# refused WORDS
refused() {
  local code=0 said
  said=$(scripts/release 2>&1) || code=$?
  [[ $code == 2 && $said == *"$1"* && ! -e build/release ]] || { echo "not refused with \"$1\" but $code: $said" && exit 1; }
}
commit start
echo change >>.gitignore
refused 'the tree is not clean'
commit change
refused 'CHANGELOG.md has no section "## [9.8.7] - DATE"'
echo '## [9.8.7] - 2026-01-02' >>CHANGELOG.md && commit changelog
sed -i 's/^## \[Unreleased\]/&\n- a change/' CHANGELOG.md && commit unreleased
refused 'CHANGELOG.md has unreleased changes, which 9.8.7 would contain'
sed -i '/^- a change/d' CHANGELOG.md && commit moved
refused 'python/plumbline/version.py has another version than VERSION, 9.8.7'
echo '__version__ = "9.8.7"' >python/plumbline/version.py && commit version
refused 'this commit is not v9.8.7'
git tag v9.8.7 HEAD~1
refused 'this commit is not v9.8.7'
git tag -f v9.8.7 >/dev/null
said=$(scripts/release 2>&1) || { echo "$said" && exit 1; }
cd build/release
[[ $(ls | tr '\n' ' ') == 'SHA256SUMS plumbline-9.8.7-py3-none-any.whl plumbline-9.8.7.tar.gz ' ]] || { ls && exit 1; }
sha256sum --quiet -c SHA256SUMS && (($(wc -l <SHA256SUMS) == 2))
[[ $(tar -xzOf plumbline-9.8.7.tar.gz plumbline-9.8.7/VERSION) == 9.8.7 ]]

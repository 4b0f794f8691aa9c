#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# publish_test.sh SCRIPTS: make publish must refuse a tree with uncommitted changes, before it builds or runs anything.
set -u
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
cp -r "$1" "$folder/scripts" && cd "$folder" || exit 1
git init -q . && git add . && git -c user.name=t -c user.email=t@t commit -qm start || exit 1
echo change >> scripts/publish
said=$(scripts/publish 2>&1)
code=$?
[ "$code" = 2 ] || { echo "a dirty tree: exit code $code, not 2: $said"; exit 1; }
case $said in *"the tree is not clean"*) ;; *) echo "the message does not say why: $said"; exit 1 ;; esac
git checkout -q . && said=$(PUBLISH=no-such.toml scripts/publish 2>&1)
code=$?
[ "$code" = 2 ] || { echo "a missing sweep file: exit code $code, not 2: $said"; exit 1; }
case $said in *"no-such.toml: no such sweep file"*) ;; *) echo "the message does not name it: $said"; exit 1 ;; esac

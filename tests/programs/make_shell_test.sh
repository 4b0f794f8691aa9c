#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# make_shell_test.sh SHELL: a make that gets SIGTERM must leave nothing running, and make must pass on the exit code of a command.
set -euo pipefail
folder=$(mktemp -d)
trap 'kill $(cat "$folder/pid" 2>/dev/null) 2>/dev/null || true; rm -rf "$folder"' EXIT
cd "$folder"
cat >Makefile <<END
SHELL := $1
long:
	@bash -c 'bash -c "echo \$\$\$\$ >pid.new; mv pid.new pid; exec sleep 600"; true'; true
three:
	@exit 3
typed:
	@read -r word; [[ \$\$word == here ]]
END
code=0
make three >said 2>&1 || code=$?
((code == 2)) && grep -q 'three\] Error 3' said || { cat said && exit 1; }
echo here | make typed >said 2>&1 || { cat said && exit 1; }
make long >said 2>&1 &
make=$!
until [[ -e pid ]]; do sleep 0.02; done
kill -TERM "$make"
wait "$make" && { echo "make succeeded although it got SIGTERM" && exit 1; }
for _ in {1..500}; do
  kill -0 "$(<pid)" 2>/dev/null || exit 0
  sleep 0.02
done
echo "a process that make started is still running" && exit 1

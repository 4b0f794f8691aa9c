#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# matrix_page_test.sh SOURCE: scripts/matrix-page on made-up rows: shares with their intervals, failed rows, escaped texts; and scripts/artifacts on its page.
set -euo pipefail
source=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# expect KIND CODE: runs on the rows on stdin; $said and $page get the output.
expect() {
  local code=0
  cat >"$work/rows.csv"
  said=$("$source/scripts/matrix-page" "$1" "$work/rows.csv" "$work/page.html" "${@:3}") || code=$?
  page=$(cat "$work/page.html" 2>/dev/null || true)
  rows_of_page=$(sed 's/ data-of="[^"]*"//g; s/ scope="col"//g' <<<"$page")
  [[ $code == "$2" ]] || { echo "matrix-page $1 ended with $code, not $2: $said" >&2 && exit 1; }
}
has() { grep -qF -- "$2" <<<"$1" || { printf 'no "%s" in:\n%s\n' "$2" "$1" >&2 && exit 1; }; }
lacks() { ! grep -qF -- "$2" <<<"$1" || { printf '"%s" in:\n%s\n' "$2" "$1" >&2 && exit 1; }; }

head=name,fault,run,schedule,world,expected,killed,red,place_right,first
{
  echo $head
  for i in {1..59}; do echo "killed-$i,G1@rank=2,tied,1f1b,3,loss,true,loss gradients,true,there"; done
} >"$work/in"
expect faults 0 <"$work/in"
has "$said" '59 of 59 (95 %: 0.939 to 1)' # Clopper and Pearson: 0.025^(1/59)
has "$said" 'not found: none'
has "$said" 'of those with a required place, first divergence there: 59 of 59'
lacks "$page" 'class="fail"'
has "$page" '<header class="band">'
has "$rows_of_page" '<th>ranks</th><th>must be found by</th><th>failed</th><th>place</th><th>first divergence</th></tr>'
has "$rows_of_page" '<tr><td>killed-1</td><td>G1@rank=2</td><td>tied</td><td>1f1b</td><td>3</td><td>loss</td><td>loss, gradients</td><td>right</td><td>there</td></tr>'
has "$page" '<meta name="description" content="faults found by the check that must find them: 59 of 59 (95 %: 0.939 to 1)">'
has "$page" '<li>not found: none</li>'
echo '<survivor>,P1,tied,1f1b,2,memory,false,,,"nothing, at all"' >>"$work/in"
expect faults 1 <"$work/in"
has "$said" 'not found: <survivor>'
has "$page" '<header class="band bad">'
has "$page" '<tr><td data-of="injected fault" class="fail">&lt;survivor&gt;</td>'
lacks "$page" '<survivor>'
expect faults 1 < <(printf '%s\n' $head 'harmless,N1,tied,1f1b,2,,,loss,,')
has "$said" 'false alarm: 1 of 1 (95 %: 0.025 to 1)'
expect faults 0 < <(printf '%s\n' $head 'harmless,N1,tied,1f1b,2,,,,,')
has "$said" 'false alarm: 0 of 1 (95 %: 0 to 0.975)'
has "$said" 'not found: none' # an equivalent change is not a fault
expect faults 1 < <(printf '%s\n' $head 'elsewhere,G1,tied,1f1b,2,loss,true,loss,false,')
has "$page" WRONG
has "$said" 'first divergence there: 0 of 1'
echo '{"name": "default", "counts": {"cases": 300, "cases_holding": 300}, "harness": {"commit": "abc"}}' >"$work/verdict.json"
expect faults 0 --clean "$work/verdict.json" < <(printf '%s\n' $head 'killed,G1,tied,1f1b,2,loss,true,loss,,')
has "$said" '0 of 300 (95 %: 0 to 0.0122): default 300 at abc'
has "$page" '0 of 300 (95 %: 0 to 0.0122): default 300 at abc'
echo '{"name": "red", "counts": {"cases": 40, "cases_holding": 38}, "harness": {"commit": "def"}}' >"$work/red.json"
expect faults 0 --clean "$work/verdict.json" "$work/red.json" < <(printf '%s\n' $head 'killed,G1,tied,1f1b,2,loss,true,loss,,')
has "$said" '2 of 340 (95 %: 0.000713 to 0.0211): default 300 at abc, red 40 at def'

rows=way,place,world,rank,culprit,exit_code,seconds,words,right
expect supervision 1 --back ../index.html < <(printf '%s\n' $rows 'killed,start,8,4,4,137,1.05,"rank 4, was killed",true' 'leaves,end,2,0,0,1,0.50,"rank 0 left",true' 'slow,update,2,0,,0,9.00,,true' 'hangs,end,2,1,,1,3.10,,false' 'hangs,finalize,2,1,1,137,18.0,"rank 1",true')
has "$said" 'with the right rank and action named: 4 of 5'
has "$said" '1.05 s after a crash, 3.10 s after a hang'
has "$page" '<a href="../index.html">All pages</a>'
has "$rows_of_page" '<tr><td>killed</td><td>start</td><td>8</td><td>4</td><td>4</td><td>137</td><td>1.05</td><td>rank 4, was killed</td></tr>'
has "$said" 'not as expected: hangs end rank 1 of 2'
echo $rows | { code=0 && "$source/scripts/matrix-page" supervision /dev/stdin "$work/none.html" 2>"$work/error" || code=$?; [[ $code == 2 ]]; }
has "$(cat "$work/error")" 'is empty'

# The index of pages fails if one of them does.
mkdir "$work/pages" && mv "$work/page.html" "$work/pages"
list=$("$source/scripts/artifacts" "$work/pages" --index "$work/index.html")
index=$(<"$work/index.html")
has "$list" "| $work/pages/page.html | "
has "$index" '1 page, the newest first.'
has "$index" '<header class="band bad">'
has "$index" '<td class="fail">'

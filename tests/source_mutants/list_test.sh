#!/bin/sh
# list_test.sh SOURCE PYTHON: every mutant of the lists can be made today (its `old` stands exactly once in its file), and lists that are
# wrong are refused, each with its reason. Python without a TOML reader: 77.
set -u
cd "$1" || exit 1
"$2" -c 'import tomllib' 2>/dev/null || { echo "this Python reads no TOML: 3.11 does"; exit 77; }
said=$("$2" scripts/mutants --check 2>&1) || { echo "$said"; exit 1; }
echo "$said"
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT

# refused WHAT IN_THE_MESSAGE LINE...: a list of these lines ends with 2 and says so.
refused() {
  what=$1 wanted=$2
  shift 2
  printf '%s\n' "$@" > "$folder/list.toml"
  said=$("$python" scripts/mutants --check "$folder/list.toml" 2>&1)
  code=$?
  [ "$code" = 2 ] || { echo "$what: exit code $code, not 2: $said"; exit 1; }
  case $said in *"$wanted"*) ;; *) echo "$what: it does not say \"$wanted\": $said"; exit 1 ;; esac
}
python=$2
mutant='[[mutant]]'
rest='why = "a test"
killer = "support_test"'
refused "an old that is not there" "stands 0 times" "$mutant" 'id = "one"' 'file = "support/shell.cpp"' 'old = "no such text"' 'new = ""' "$rest"
refused "an old that is there twice" "times in support/shell.cpp, not once" "$mutant" 'id = "one"' 'file = "support/shell.cpp"' 'old = "std"' 'new = ""' "$rest"
refused "a file that is not there" "stands 0 times" "$mutant" 'id = "one"' 'file = "support/none.cpp"' 'old = "a"' 'new = ""' "$rest"
refused "a new that is the old" "or \`new\` is the same" "$mutant" 'id = "one"' 'file = "support/shell.cpp"' 'old = "namespace plumbline {"' 'new = "namespace plumbline {"' "$rest"
refused "a key that is missing" "one: lacks why" "$mutant" 'id = "one"' 'file = "support/shell.cpp"' 'old = "a"' 'new = ""' 'killer = "support_test"'
one='id = "one"
file = "support/shell.cpp"
old = "namespace plumbline {"
new = ""'
refused "an id that is there twice" "there are two of that id" "$mutant" "$one" "$rest" "$mutant" "$one" "$rest"

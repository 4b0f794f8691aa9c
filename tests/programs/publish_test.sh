#!/bin/sh
# publish_test.sh SCRIPTS: make publish refuses a tree with changes that are not committed, before it builds or runs anything.
set -u
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
cp -r "$1" "$folder/scripts" && cd "$folder" || exit 1
git init -q . && git add . && git -c user.name=t -c user.email=t@t commit -qm start || exit 1
echo change >> scripts/publish
said=$(scripts/publish 2>&1)
code=$?
[ "$code" = 2 ] || { echo "a dirty tree: exit code $code, not 2: $said"; exit 1; }
case $said in *"the tree is not clean"*) ;; *) echo "it does not say why: $said"; exit 1 ;; esac
git checkout -q . && said=$(PUBLISH=no-such.toml scripts/publish 2>&1)
code=$?
[ "$code" = 2 ] || { echo "a sweep that is not there: exit code $code, not 2: $said"; exit 1; }
case $said in *"no-such.toml: there is no such sweep file"*) ;; *) echo "it does not name it: $said"; exit 1 ;; esac

# The page of a matrix says the commit that it was made from, not that its own rows have just changed.
command -v python3 >/dev/null || exit 0
stub() { mkdir -p "$(dirname "$1")" && printf '#!/bin/sh\n%s\n' "$2" >"$1" && chmod +x "$1"; }
stub build/cpu/bin/plumbline 'exit 0'
stub scripts/build 'exit 0'
stub scripts/witness-python 'exit 0'
stub scripts/mutants 'mkdir -p build/mutants && printf "mutant,file,text,killed_by,as_expected,seconds,commit\na,model/x.cpp,0,model_test X,true,1,abc\n" >build/mutants/results.csv'
mkdir -p reports/published/sources && echo before >reports/published/sources/sources.csv && printf 'build/\nreports/runs/\n' >.gitignore
git add . && git -c user.name=t -c user.email=t@t commit -qm stubs && mkdir -p build/mutants && touch build/mutants/results.csv || exit 1
said=$(PUBLISH=sources scripts/publish 2>&1) || { echo "it is not published: $said"; exit 1; }
commit=$(git rev-parse --short=12 HEAD)
grep -q "name=\"commit\" content=\"$commit\"" reports/published/sources/sources.html || { echo "the page is not of $commit:"; grep -o 'name="commit"[^>]*' reports/published/sources/sources.html; exit 1; }
grep -q '^a,model/x.cpp' reports/published/sources/sources.csv || { echo 'the rows are not published'; exit 1; }

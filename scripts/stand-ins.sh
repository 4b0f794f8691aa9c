# SPDX-License-Identifier: BSD-3-Clause
# Sourced by scripts that make a Python with torch (witness-python, torch-python).

# stand_ins TORCH DIR: torch's Python half loads the libraries of its GPU half also where no GPU is used: 2 GB, of which a CPU run calls
# nothing. For each that is missing an empty library is made in DIR. These hold the names that torch asks for, in the versions that it
# asks for; a call would end the program.
stand_ins() {
  local torch=$1 folder=$2 halves resolved missing here wanted held library versions version names unversioned
  mkdir -p "$folder"
  halves=("$torch"/lib/lib{torch_cuda,torch_python,torch_nvshmem,c10_cuda}.so)
  resolved=$(for half in "${halves[@]}"; do ldd "$half"; done | sort -u)
  missing=$(awk '/not found/ {print $1}' <<<"$resolved" | sort -u)
  [[ -n $missing ]] || return 0
  here=$(awk '$3 ~ /^\// {print $3}' <<<"$resolved" | sort -u)
  held=$(nm -D --defined-only $here 2>/dev/null | awk 'NF == 3 {sub(/@.*/, "", $3); print $3}' | sort -u)
  # name, and where it has one, version
  wanted=$(nm -D --undefined-only "${halves[@]}" | awk '$1 == "U" {sub(/@+/, " ", $2); print $2}' | grep -E '^_*(cu|nccl|nvshmem)' | sort -u |
    awk 'NR == FNR {held[$1]; next} !($1 in held)' <(echo "$held") -)
  unversioned=$(awk 'NF == 1' <<<"$wanted") # in the first
  for library in $missing; do
    versions=$(objdump -p "${halves[@]}" | awk -v asked="$library:" '/required from/ {mine = $3 == asked; next} mine && NF == 4 {print $4} !NF {mine = 0}' | sort -u)
    names=$(awk 'NR == FNR {mine[$1]; next} $2 in mine' <(echo "$versions") <(awk 'NF == 2' <<<"$wanted"))
    {
      echo .text
      { awk '{print $1}' <<<"$names" && echo "$unversioned"; } | sed '/^$/d; s/.*/.globl &\n.type &,@function\n&:/'
      echo ud2
    } >"$folder/names.s"
    { # the loader ends where a library that it asks for versions has none at all
      for version in $versions; do
        echo "$version { global: $(awk -v version="$version" '$2 == version {print $1 ";"}' <<<"$names" | tr '\n' ' ')};"
      done
      [[ -n $versions ]] || echo '{ global: *; };'
    } >"$folder/versions"
    gcc -shared -nostdlib -Wl,-soname,"$library" -Wl,--version-script="$folder/versions" -o "$folder/$library" -x assembler "$folder/names.s"
    unversioned=
  done
  say "stood in for, since no GPU is used:" $missing
}

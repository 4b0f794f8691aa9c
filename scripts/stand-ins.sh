# Sourced by scripts that make a Python with torch (witness-python, torch-python).

# stand_ins TORCH DIR: torch's Python half loads the libraries of its GPU half also where no GPU is used: 2 GB, of which a CPU run calls
# nothing. For each that is missing an empty library is made in DIR. These hold the names that torch asks for; a call would end the program.
stand_ins() {
  local torch=$1 folder=$2 halves resolved missing here wanted held source_of_names library
  mkdir -p "$folder"
  halves=("$torch"/lib/lib{torch_cuda,torch_python,torch_nvshmem,c10_cuda}.so)
  resolved=$(for half in "${halves[@]}"; do ldd "$half"; done | sort -u)
  missing=$(awk '/not found/ {print $1}' <<<"$resolved" | sort -u)
  [[ -n $missing ]] || return 0
  here=$(awk '$3 ~ /^\// {print $3}' <<<"$resolved" | sort -u)
  wanted=$(nm -D --undefined-only "${halves[@]}" | awk '$1 == "U" {sub(/@.*/, "", $2); print $2}' | grep -E '^_*(cu|nccl|nvshmem)' | sort -u)
  held=$(nm -D --defined-only $here 2>/dev/null | awk 'NF == 3 {sub(/@.*/, "", $3); print $3}' | sort -u)
  {
    echo .text
    comm -23 <(echo "$wanted") <(echo "$held") | sed 's/.*/.globl &\n.type &,@function\n&:/'
    echo ud2
  } >"$folder/names.s"
  source_of_names=$folder/names.s # in the first; the others are only there to be found
  for library in $missing; do
    gcc -shared -nostdlib -Wl,-soname,"$library" -o "$folder/$library" -x assembler "$source_of_names"
    source_of_names=/dev/null
  done
  say "stood in for, since no GPU is used:" $missing
}

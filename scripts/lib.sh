# Functions that the scripts share; sourced, never run.
#
# After `source`, root is the repository's folder and the current one.
# shellcheck shell=bash
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root" || exit 1
script=$(basename "${0%.sh}")

say() { printf '%s: %s\n' "$script" "$*"; }

die() {
  printf '%s: error: %s\n' "$script" "$*" >&2
  exit 1
}

# step LABEL COMMAND...: runs the command with its output in a log, prints the
# label, a sign of life every 15 s and the time it took. On failure prints the
# end of the log and returns the command's status.
step() {
  local label=$1 log started pid traps status=0
  shift
  log=$(mktemp -t "ferry-$script.XXXXXX")
  started=$SECONDS
  say "$label"
  "$@" >"$log" 2>&1 </dev/null &
  pid=$!
  # A background command does not hear Ctrl-C by itself.
  traps=$(trap -p INT TERM)
  trap 'kill "$pid" 2>/dev/null; exit 130' INT TERM
  while kill -0 "$pid" 2>/dev/null; do
    # Wakes at the end of the command or after 15 s.
    timeout 15 tail -f /dev/null --pid="$pid" || true
    if kill -0 "$pid" 2>/dev/null; then
      say "  ... $((SECONDS - started)) s: $(tail -n 1 "$log" |
        tr -d '\r' | cut -c 1-60)"
    fi
  done
  wait "$pid" || status=$?
  trap - INT TERM
  eval "$traps"
  if [ "$status" -ne 0 ]; then
    tail -n 25 "$log" | sed 's/^/    /' >&2
    printf '%s: failed with status %s: %s\n' "$script" "$status" "$*" >&2
    printf '%s: the whole output is in %s\n' "$script" "$log" >&2
    return "$status"
  fi
  say "  done in $((SECONDS - started)) s"
  rm -f "$log"
}

# Prints how many compilations fit: one a core, and 2 GB of memory each.
jobs_that_fit() {
  local cores memory
  cores=$(nproc)
  memory=$(awk '/^MemAvailable/ {print int($2 / 2000000)}' /proc/meminfo)
  [ "$memory" -ge 1 ] || memory=1
  echo "${FERRY_JOBS:-$((cores < memory ? cores : memory))}"
}

# make_root LABEL TARGET FLAGS...: a Debian 12 in that folder or tarball, by
# mmdebstrap with these flags and this machine's proxies of apt.
make_root() {
  local label=$1 target=$2 line proxies=()
  shift 2
  while read -r line; do
    proxies+=("--aptopt=$line")
  done < <(apt-config dump 2>/dev/null | grep -E '^Acquire::https?::Proxy ' || true)
  step "$label" mmdebstrap --quiet "$@" "${proxies[@]}" bookworm "$target" ||
    die "mmdebstrap failed"
}

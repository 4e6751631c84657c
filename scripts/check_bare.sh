#!/usr/bin/env bash
# Shows that a fresh clone works on a bare Debian 12: makes one, clones into it
# what is committed, and runs both commands of the README there.
#
#   scripts/check_bare.sh [--once] [--out DIR]
#
# Three rounds of demo.sh and test.sh: on the bare system; with everything
# installed but nothing built; and once more as it then is. --once stops after
# the first. Writes A6.json and A6.md into DIR (bench/results).
#
# Needs root, mmdebstrap, 12 GB under ${FERRY_BARE_DIR:-/var/tmp}, the network.
# The system is a folder entered by chroot, in mount and process namespaces of
# its own: all of it is gone when the script ends, however it ends. It shares
# the host's network and takes over its proxies, pip settings and certificates.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

rounds=(bare no_downloads again)
out=$root/bench/results
while [ $# -gt 0 ]; do
  case $1 in
    --once) rounds=(bare) ;;
    --out)
      [ $# -ge 2 ] || die "--out needs a folder"
      out=$2
      shift
      ;;
    -h | --help)
      sed -n '2,/^set/ {/^set/d; s/^# \{0,1\}//; p}' "${BASH_SOURCE[0]}"
      exit 0
      ;;
    *) die "unknown argument $1; see --help" ;;
  esac
  shift
done

[ "$(id -u)" -eq 0 ] || die "needs root, for chroot and mounts"
for program in mmdebstrap unshare git python3; do
  command -v "$program" >/dev/null || die "$program is not installed;" \
    "apt-get install mmdebstrap util-linux git python3"
done

# The outer run makes the folder, starts itself again in namespaces of its own,
# and removes the folder when that ends: mounts and processes are gone by then,
# since the death of a namespace's first process ends the others.
if [ -z "${FERRY_BARE_WORK:-}" ]; then
  FERRY_BARE_WORK=$(mktemp -d "${FERRY_BARE_DIR:-/var/tmp}/ferry-bare.XXXXXX")
  export FERRY_BARE_WORK
  inner=
  clean() {
    if [ -n "$inner" ]; then
      kill -KILL "$inner" 2>/dev/null || true
      wait "$inner" 2>/dev/null || true
    fi
    # Never into another file system. Again, where the last of the processes
    # was still writing.
    rm -rf --one-file-system "$FERRY_BARE_WORK" 2>/dev/null ||
      rm -rf --one-file-system "$FERRY_BARE_WORK"
  }
  trap clean EXIT
  trap 'exit 130' INT TERM HUP
  unshare --mount --pid --fork --kill-child --propagation private -- \
    bash "${BASH_SOURCE[0]}" --out "$out" \
    $([ ${#rounds[@]} -gt 1 ] || echo --once) &
  inner=$!
  status=0
  wait "$inner" || status=$?
  inner=
  exit "$status"
fi
mount -t proc proc /proc
work=$FERRY_BARE_WORK
bare=$work/root

make_bare_system() {
  make_root "making a bare Debian 12" "$bare" --variant=minbase
  mount -t proc proc "$bare/proc"
  mount --rbind /sys "$bare/sys"
  mount --rbind /dev "$bare/dev"
  cp -L /etc/resolv.conf /etc/hosts "$bare/etc/"
  # Certificates of this machine's own; ca-certificates takes them up when
  # set-up installs it.
  if [ -d /usr/local/share/ca-certificates ]; then
    mkdir -p "$bare/usr/local/share/ca-certificates"
    cp -L /usr/local/share/ca-certificates/*.crt \
      "$bare/usr/local/share/ca-certificates/" 2>/dev/null || true
  fi
  if [ -f /etc/pip.conf ]; then
    cp /etc/pip.conf "$bare/etc/"
  fi
  git -c safe.directory='*' clone --quiet --no-local "$root" "$bare/ferry" ||
    die "could not clone $root"
}

# Runs a command line in the clone, with nothing of the host's environment but
# what leads to the network.
inside() {
  local variable carried=()
  for variable in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY \
    NO_PROXY PIP_INDEX_URL PIP_EXTRA_INDEX_URL PIP_TRUSTED_HOST PIP_PROXY \
    PIP_CERT PIP_DEFAULT_TIMEOUT SSL_CERT_FILE REQUESTS_CA_BUNDLE; do
    [ -z "${!variable:-}" ] || carried+=("$variable=${!variable}")
  done
  env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
    TERM=dumb "${carried[@]}" chroot "$bare" bash -c "cd /ferry && $1"
}

# run ROUND SCRIPT: runs, times and notes one command. Its output is shown.
run() {
  local started=$SECONDS status=0
  say "$1: scripts/$2"
  inside "bash scripts/$2" </dev/null 2>&1 | sed -u "s/^/[$1] /" || status=$?
  printf '%s %s %s %s\n' "$1" "$2" "$((SECONDS - started))" "$status" \
    >>"$work/times"
  say "$1: scripts/$2 took $((SECONDS - started)) s, status $status"
}

[ -z "$(git -c safe.directory='*' status --porcelain --untracked-files=no)" ] ||
  say "note: changes that are not committed are not in the clone"
load=$(cat /proc/loadavg)
make_bare_system
for round in "${rounds[@]}"; do
  if [ "$round" = no_downloads ]; then
    inside "rm -rf build && ccache --clear >/dev/null"
  fi
  run "$round" demo.sh
  run "$round" test.sh
done
FERRY_RESULTS=$out python3 scripts/bare_results.py "$work/times" "$load" ||
  die "a command failed on the bare system, see above"

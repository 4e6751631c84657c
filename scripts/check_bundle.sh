#!/usr/bin/env bash
# Shows that a bundle serves on a bare system: makes a minimal Debian 12, with no
# compiler, no Python and no library of ours, unpacks the bundle there, and asks
# its models, through its own launcher and load generator.
#
#   scripts/check_bundle.sh [BUNDLE.tar.gz] [--torch DIR]
#
# BUNDLE  what scripts/bundle.sh makes (the newest in dist/)
# --torch the torch/ folder of a wheel (that of .venv), which the bare system sees
#
# Needs root, mmdebstrap, 1 GB under ${FERRY_BARE_DIR:-/var/tmp}, and Debian's
# packages. The system is a folder entered by chroot, in mount and process
# namespaces of its own: all of it is gone when the script ends.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

bundle=
torch=
while [ $# -gt 0 ]; do
  case $1 in
    --torch)
      [ $# -ge 2 ] || die "--torch needs a folder"
      torch=$2
      shift
      ;;
    -h | --help)
      sed -n '2,/^set/ {/^set/d; s/^# \{0,1\}//; p}' "${BASH_SOURCE[0]}"
      exit 0
      ;;
    -*) die "unknown argument $1; see --help" ;;
    *) bundle=$1 ;;
  esac
  shift
done
[ -n "$bundle" ] || bundle=$(ls -t dist/ferry-*.tar.gz 2>/dev/null | head -n 1)
[ -f "$bundle" ] || die "no bundle '$bundle'; scripts/bundle.sh makes one"
[ -n "$torch" ] || torch=$(echo .venv/lib/python3*/site-packages/torch)
[ -e "$torch/lib/libtorch_cpu.so" ] || die "no lib/libtorch_cpu.so in '$torch'"
[ "$(id -u)" -eq 0 ] || die "needs root, for chroot and mounts"
for program in mmdebstrap unshare; do
  command -v "$program" >/dev/null || die "$program is not installed;" \
    "apt-get install mmdebstrap util-linux"
done

# As scripts/check_bare.sh does: once more in namespaces of its own, so that
# mounts and processes are gone before the folder is removed.
if [ -z "${FERRY_BUNDLE_WORK:-}" ]; then
  FERRY_BUNDLE_WORK=$(mktemp -d "${FERRY_BARE_DIR:-/var/tmp}/ferry-bundle.XXXXXX")
  export FERRY_BUNDLE_WORK
  trap 'rm -rf --one-file-system "$FERRY_BUNDLE_WORK"' EXIT
  trap 'exit 130' INT TERM HUP
  unshare --mount --pid --fork --kill-child --propagation private -- \
    bash "${BASH_SOURCE[0]}" "$(readlink -f "$bundle")" \
    --torch "$(readlink -f "$torch")"
  exit
fi
mount -t proc proc /proc
bare=$FERRY_BUNDLE_WORK/root

make_root "making a bare Debian 12" "$bare" --variant=essential
mkdir -p "$bare/site" "$bare/opt"
mount -t proc proc "$bare/proc"
mount --rbind /dev "$bare/dev"
mount --bind -o ro "$torch/.." "$bare/site"
tar -xzf "$bundle" -C "$bare/opt"
mv "$bare"/opt/ferry-* "$bare/opt/ferry"
cat >"$bare/opt/check" <<'CHECK'
set -eu
cd /opt/ferry
for tool in python3 gcc; do
  if command -v $tool; then
    echo "expected a bare system, got one with $tool" >&2
    exit 1
  fi
done
sha256sum --quiet -c MANIFEST.sha256
export FERRY_TORCH=/site/torch
bin/ferry-launch --servers 2 --grpc-port "$1" --metrics-port "$2" \
  --status-file /tmp/status -- --model-repository models &
launcher=$!
for model in linear sim; do
  bin/ferry-bench run -u "127.0.0.1:$1" -m $model --outstanding 4 \
    --wait-ready-secs 120 --warm-up-secs 0 --duration-secs 1 \
    --fail-if 'errors>0%'
done
kill $launcher
wait $launcher
CHECK
first=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0))
print(min(s.getsockname()[1], 65000))')
say "serving there, ports $first to $((first + 11))"
env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root chroot "$bare" \
  /bin/sh /opt/check "$first" "$((first + 10))" ||
  die "the bundle does not serve on a bare system, see above"
say "$(basename "$bundle") serves on a bare $(. "$bare/etc/os-release" &&
  echo "$PRETTY_NAME")"

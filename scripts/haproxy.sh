#!/usr/bin/env bash
# Runs HAProxy as Debian builds it, for the tests of deploy/haproxy.
#
#   scripts/haproxy.sh -c -f deploy/haproxy/haproxy.cfg
#
# On first use unpacks Debian's package into ${FERRY_TOOLS:-~/.cache/ferry-tools},
# 3 MB. It is not installed: that would start a balancer on this machine.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/tool_lib.sh"
home=$tools/haproxy-debian

fill() {
  (cd "$1" && rm -f haproxy_*.deb && apt-get download -q haproxy && dpkg-deb -x haproxy_*.deb . &&
    rm haproxy_*.deb) >&2 || fail "apt-get could not download haproxy"
}

install_tool "$home" usr/sbin/haproxy fill
exec "$home/usr/sbin/haproxy" "$@"

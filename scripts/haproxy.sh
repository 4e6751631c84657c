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

fill() { unpack "$1" haproxy; }

install_tool "$home" usr/sbin/haproxy fill
exec "$home/usr/sbin/haproxy" "$@"

#!/usr/bin/env bash
# Runs nginx as Debian builds it, for the tries of deploy/nginx.
#
#   scripts/nginx.sh -t -c /path/to/nginx.conf
#
# On first use unpacks Debian's package into ${FERRY_TOOLS:-~/.cache/ferry-tools},
# 1 MB. It is not installed: that would start a server on this machine.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/tool_lib.sh"
home=$tools/nginx-debian

fill() { unpack "$1" nginx; }

install_tool "$home" usr/sbin/nginx fill
exec "$home/usr/sbin/nginx" "$@"

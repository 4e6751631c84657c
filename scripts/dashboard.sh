#!/usr/bin/env bash
# Writes Grafana's dashboard to standard output, by Grafana's own library.
#
#   scripts/dashboard.sh > deploy/grafana/ferry.json
#
# On first use puts the library into ${FERRY_TOOLS:-~/.cache/ferry-tools}, 5 MB.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/tool_lib.sh"
# Its versions name the day of their making, and the Grafana they are for.
package='grafana-foundation-sdk==1769699998!10.1.0'
home=$tools/dashboard-10.1.0

fill() {
  download "$1" "$package"
  printf '#!/bin/sh\n' >"$1/installed"
  chmod +x "$1/installed"
}

install_tool "$home" installed fill
[ "${1:-}" != --version ] || {
  printf '%s\n' "$package"
  exit
}
python=$(command -v /usr/bin/python3 || command -v python3)
PYTHONPATH=$home PYTHONDONTWRITEBYTECODE=1 exec "$python" \
  "$(dirname "${BASH_SOURCE[0]}")/../deploy/grafana/make_dashboard.py"

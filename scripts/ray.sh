#!/usr/bin/env bash
# Runs a command where Ray Serve is installed, as examples/ray needs it:
#
#   scripts/ray.sh serve --help
#   scripts/ray.sh python tests/deploy/ray_serving.py --help
#
# On first use puts the packages of requirements/ray.txt into a virtual environment
# of their own in ${FERRY_TOOLS:-~/.cache/ferry-tools}, 525 MB. Ray's reports of its
# use are off (RAY_USAGE_STATS_ENABLED=0).
set -euo pipefail
folder=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$folder/tool_lib.sh"
pins=$folder/../requirements/locked/ray.txt
home=$tools/ray-$(cksum <"$pins" | cut -d ' ' -f 1)

fill() {
  fill_venv "$1" "installing Ray Serve" "$pins"
  # Programs that pip writes begin with the path of the environment, which moves.
  sed -i "1s|^#!.*/bin/python.*|#!$home/bin/python|" \
    "$(find "$1/bin" -name ray -type f)" "$(find "$1/bin" -name serve -type f)"
}

install_tool "$home" bin/python fill
[ $# -gt 0 ] || fail "expected a command, as: serve --help"
[ "$1" != --version ] || set -- ray --version
export RAY_USAGE_STATS_ENABLED=0
PATH=$home/bin:$PATH exec "$@"

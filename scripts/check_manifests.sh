#!/usr/bin/env bash
# Checks Kubernetes manifests against Kubernetes' published schemas, by
# kubernetes-validate.
#
#   scripts/check_manifests.sh --strict deploy/kubernetes/*.yaml
#   scripts/check_manifests.sh --python FILE..   runs Python with its packages
#
# On first use puts it into ${FERRY_TOOLS:-~/.cache/ferry-tools}, and beside it
# what the tests of deploy/ ask too: KServe's own Python models, of which only
# the lists of fields are read, and a parser of Containerfiles; 24 MB to fetch.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/tool_lib.sh"
home=$tools/check_manifests-1.37.0
packages=(
  attrs==26.1.0
  dockerfile-parse==2.0.1
  importlib_resources==7.1.0
  jsonschema==4.26.0
  jsonschema-specifications==2025.9.1
  kserve==0.21.0
  kubernetes-validate==1.37.0
  packaging==26.3
  PyYAML==6.0.3
  referencing==0.37.0
  rpds-py==2026.9.1
  typing_extensions==4.16.0
)

fill() {
  download "$1" "${packages[@]}"
  # The schemas of other versions of Kubernetes are most of it.
  find "$1/kubernetes_validate/kubernetes-json-schema" -mindepth 1 -maxdepth 1 \
    ! -name 'v1.37.*' -exec rm -r {} +
  printf '#!/bin/sh\n' >"$1/installed"
  chmod +x "$1/installed"
}

install_tool "$home" installed fill
# The Python for which the wheels were chosen.
python=$(command -v /usr/bin/python3 || command -v python3)
export PYTHONPATH=$home${PYTHONPATH:+:$PYTHONPATH}
export FERRY_KSERVE_MODELS=$home/kserve/models
if [ "${1:-}" = --python ]; then
  exec "$python" "${@:2}"
fi
exec "$python" -m kubernetes_validate "$@"

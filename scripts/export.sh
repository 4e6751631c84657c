#!/usr/bin/env bash
# Writes a folder that Ferry serves from a Python module, serves it, and
# compares the answers with the module's own in fp32.
#
#   scripts/export.sh MODULE --input NAME:TYPE:DIMS --repository DIR [OPTIONS]
#   scripts/export.sh examples/export/mlp.py:Mlp --input x:FP32:-1,64 \
#       --repository my_models
#
# --help has the rest, docs/export.md the story. Needs all of torch, the build
# for the processor or that with CUDA: FERRY_EXPORT_PYTHON=some/python that has
# it and the packages of requirements/export.txt and requirements/python.txt, or
# scripts/setup.sh --full.
set -euo pipefail
called_from=$PWD
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

python=${FERRY_EXPORT_PYTHON:-$root/.venv/bin/python}
[[ $python = /* ]] || python=$called_from/$python
[ -x "$python" ] || die "no $python: docs/export.md says which Python exports"
server=$root/build/release/bin/ferry-server
cd "$called_from"
# The module is found from here, as `python -m` would.
PYTHONPATH="$root/models/export:$called_from${PYTHONPATH:+:$PYTHONPATH}" \
  exec "$python" -m ferry_export --server "$server" "$@"

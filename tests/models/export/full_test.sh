#!/usr/bin/env bash
# Runs full_test.py with a Python that has all of torch; exits 77, skipped,
# where there is none.
#
#   full_test.sh SOURCE SERVER
set -euo pipefail
python=${FERRY_EXPORT_PYTHON:-$1/.venv/bin/python}
if ! "$python" -c 'import torch' 2>/dev/null; then
  echo "skipped: $python cannot import torch; scripts/setup.sh --full, or" \
    "FERRY_EXPORT_PYTHON, gives one that can"
  exit 77
fi
cd "$(dirname "${BASH_SOURCE[0]}")"
FERRY_SERVER=$2 exec "$python" -m unittest full_test

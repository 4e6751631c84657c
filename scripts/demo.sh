#!/usr/bin/env bash
# Shows what batching does, on this machine, from nothing: builds Ferry, serves
# the embedded `mlp` in bf16 with batching off and on, measures both over gRPC,
# embeds ten sentences with the real MiniLM, and measures that, too.
#
#   scripts/demo.sh [--keep]
#
# --keep leaves the server with batching on running on 127.0.0.1:8001. Without
# it nothing is left running. Results: build/demo/*.json and report.html.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

keep=no
case ${1:-} in
  '') ;;
  --keep) keep=yes ;;
  -h | --help)
    sed -n '2,/^set/ {/^set/d; s/^# \{0,1\}//; p}' "${BASH_SOURCE[0]}"
    exit 0
    ;;
  *) die "unknown argument '$1'; expected --keep or nothing" ;;
esac

out=build/demo
bin=build/release/bin
repository=build/model_repository
grpc_port=8001
metrics_port=8002
server_pid=

stop_server() {
  if [ -n "$server_pid" ]; then
    kill "$server_pid" 2>/dev/null || true
    wait "$server_pid" 2>/dev/null || true
    server_pid=
  fi
}
trap stop_server EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# start_server LOG ARGUMENTS...: serves on the two ports; waits for its own
# word that it is ready.
start_server() {
  local log=$out/$1
  shift
  stop_server
  : >"$log"  # there before the server is, as it is read at once
  # A session of its own: a kept server outlives this terminal.
  setsid "$bin/ferry-server" --grpc-port "$grpc_port" \
    --metrics-port "$metrics_port" "$@" >"$log" 2>&1 </dev/null &
  server_pid=$!
  local waited=0
  until grep -q ' ready grpc=' "$log"; do
    check_server "$log"
    [ "$((waited += 1))" -le 600 ] || die "ferry-server is not ready; see $log"
    timeout 0.2 tail -f /dev/null || true
  done
}

check_server() {
  if ! kill -0 "$server_pid" 2>/dev/null; then
    server_pid=
    tail -n 5 "$1" >&2
    if grep -q 'cannot listen' "$1" && command -v ss >/dev/null; then
      say "processes that listen there now:" >&2
      ss -Hltnp "sport = :$grpc_port or sport = :$metrics_port" >&2
    fi
    die "ferry-server ended; its log is $1"
  fi
}

# measure LABEL JSON ARGUMENTS...: one sweep of the running server.
measure() {
  local label=$1 json=$out/$2
  shift 2
  "$bin/ferry-bench" run --address "127.0.0.1:$grpc_port" \
    --metrics "127.0.0.1:$metrics_port" --label "$label" --json "$json" \
    --warm-up-secs 0.5 "$@" >"$json.log" 2>&1 ||
    { tail -n 20 "$json.log" >&2; die "ferry-bench failed on '$label'"; }
}

bash scripts/build.sh release ferry-server ferry_torch ferry-bench
bash scripts/make_minilm.sh "$repository"
mkdir -p "$out"

say "mlp in bf16 on the CPU, batching off (max_batch_size 1)"
start_server mlp-off.log --max-batch-size 1
measure "mlp, batching off" mlp-off.json --model mlp --outstanding 64 \
  --saturation-outstanding 64 --loads 0.4,0.7 --duration-secs 3

say "mlp in bf16 on the CPU, batching on (max_batch_size 64)"
start_server mlp-on.log
measure "mlp, batching on" mlp-on.json --model mlp --outstanding 64 \
  --saturation-outstanding 256 --loads 0.2,0.4,0.6,0.8 --duration-secs 3

say "MiniLM: ten sentences, each with its nearest"
start_server minilm-on.log --model-repository "$repository" --load-model minilm
.venv/bin/python examples/embed_sentences.py --url "127.0.0.1:$grpc_port" \
  --tokenizer "$repository/minilm/tokenizer.json" \
  tests/data/minilm/sentences.txt

say "MiniLM in bf16 on the CPU, batching on (max_batch_size 32)"
measure "MiniLM, batching on" minilm-on.json --model minilm --outstanding 32 \
  --saturation-outstanding 32 --loads 0.5 --duration-secs 4 \
  --range input_ids:1000:30000 --range attention_mask:1:1
say "MiniLM in bf16 on the CPU, batching off (max_batch_size 1)"
start_server minilm-off.log --model-repository "$repository" \
  --load-model minilm --max-batch-size 1
measure "MiniLM, batching off" minilm-off.json --model minilm --outstanding 32 \
  --saturation-outstanding 32 --loads 0.5 --duration-secs 4 \
  --range input_ids:1000:30000 --range attention_mask:1:1

echo
"$bin/ferry-bench" report "$out/mlp-off.json" "$out/mlp-on.json" \
  "$out/minilm-off.json" "$out/minilm-on.json" --html "$out/report.html"
say "latency against utilization, drawn: $root/$out/report.html"

if [ "$keep" = yes ]; then
  start_server kept.log
  say "ferry-server (pid $server_pid) goes on serving 'mlp' on 127.0.0.1:$grpc_port"
  say "query it:  .venv/bin/python examples/first_request.py"
  say "metrics:   http://127.0.0.1:$metrics_port/metrics"
  say "stop it:   kill $server_pid"
  disown "$server_pid"
  server_pid=
else
  say "to query a server yourself: scripts/demo.sh --keep"
fi

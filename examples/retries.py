#!/usr/bin/env python3
"""Sends rows with a policy by which gRPC sends again what a server cannot take now.

    build/release/bin/ferry-server &
    .venv/bin/python examples/retries.py

docs/reliability.md has the reasons of the policy, and what not to send again. A
server that drains, or whose queue is full, says itself how long to wait.
"""

import sys

import numpy as np
import tritonclient.grpc as triton

POLICY = """{
  "methodConfig": [{
    "name": [{"service": "inference.GRPCInferenceService", "method": "ModelInfer"}],
    "retryPolicy": {
      "maxAttempts": 5,
      "initialBackoff": "0.1s",
      "maxBackoff": "2s",
      "backoffMultiplier": 2,
      "retryableStatusCodes": ["UNAVAILABLE", "RESOURCE_EXHAUSTED"]
    }
  }],
  "retryThrottling": {"maxTokens": 100, "tokenRatio": 0.1}
}"""
UNBOUNDED = 2**31 - 1  # the client's own, which channel_args replace
COUNT = 10


def main() -> int:
    address = sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:8001"
    with triton.InferenceServerClient(address, channel_args=[
            ("grpc.service_config", POLICY),
            ("grpc.max_send_message_length", UNBOUNDED),
            ("grpc.max_receive_message_length", UNBOUNDED)]) as client:
        x = triton.InferInput("input", [1, 1024], "FP32")
        x.set_data_from_numpy(np.ones((1, 1024), dtype=np.float32))
        # The deadline is that of all attempts together.
        answers = [client.infer("mlp", [x], client_timeout=10)
                   for _ in range(COUNT)]
    print(f"{len(answers)} of {COUNT} served")
    return 0


if __name__ == "__main__":
    sys.exit(main())

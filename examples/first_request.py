#!/usr/bin/env python3
"""Sends one row to the embedded model and prints the start of the answer.

    build/release/bin/ferry-server &
    .venv/bin/python examples/first_request.py
"""

import sys

import numpy as np
import tritonclient.grpc as triton


def main() -> int:
    address = sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:8001"
    with triton.InferenceServerClient(address) as client:
        x = triton.InferInput("input", [1, 1024], "FP32")
        x.set_data_from_numpy(np.ones((1, 1024), dtype=np.float32))
        y = client.infer("mlp", [x]).as_numpy("output")
    print(f"output {y.shape}: {y[0, :4]} ...")
    return 0


if __name__ == "__main__":
    sys.exit(main())

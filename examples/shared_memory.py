#!/usr/bin/env python3
"""Passes tensors in shared memory to a server on the same machine.

    build/release/bin/ferry-server --allow-client-shm &
    .venv/bin/python examples/shared_memory.py

A camera or a pre-processing step does the same with images: it writes them where the
server reads them, and no byte of them crosses a socket.
"""

import contextlib
import os
import sys

import numpy as np
import tritonclient.grpc as triton
import tritonclient.utils.shared_memory as shm

NAME = f"example-{os.getpid()}"


@contextlib.contextmanager
def shared_region(client, byte_size):
    """Makes an object of shared memory, and has the server know it by its name."""
    region = shm.create_shared_memory_region(NAME, f"/{NAME}", byte_size)
    try:
        client.register_system_shared_memory(NAME, f"/{NAME}", byte_size)
        try:
            yield region
        finally:  # answered once no request uses the region any more
            client.unregister_system_shared_memory(NAME)
    finally:
        shm.destroy_shared_memory_region(region)


def main() -> int:
    address = sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:8001"
    rows = np.ones((2, 1024), dtype=np.float32)
    with triton.InferenceServerClient(address) as client, \
            shared_region(client, 2 * rows.nbytes) as region:
        shm.set_shared_memory_region(region, [rows])
        x = triton.InferInput("input", list(rows.shape), "FP32")
        x.set_shared_memory(NAME, rows.nbytes)
        wanted = triton.InferRequestedOutput("output")
        wanted.set_shared_memory(NAME, rows.nbytes, offset=rows.nbytes)
        client.infer("mlp", [x], outputs=[wanted])
        y = shm.get_contents_as_numpy(region, np.float32, rows.shape,
                                      offset=rows.nbytes)
        print(f"output {y.shape}: {y[0, :4]} ...")
    return 0


if __name__ == "__main__":
    sys.exit(main())

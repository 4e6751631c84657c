#!/usr/bin/env python3
"""Keeps many requests in flight with asyncio, then sends them down one stream.

    build/release/bin/ferry-server &
    .venv/bin/python examples/many_requests.py

The server batches what is in flight at once; a stream's answers come in the
order of its requests.
"""

import asyncio
import sys

import numpy as np
import tritonclient.grpc.aio as triton
from tritonclient.utils import InferenceServerException

COUNT = 100


def row_of(number: int) -> list[triton.InferInput]:
    x = triton.InferInput("input", [1, 1024], "FP32")
    x.set_data_from_numpy(np.full((1, 1024), number / COUNT, np.float32))
    return [x]


async def at_once(client) -> list[np.ndarray]:
    """Returns the outputs by number; each awaits its own answer."""
    async def one(number):
        result = await client.infer("mlp", row_of(number), client_timeout=10)
        return result.as_numpy("output")[0]
    return await asyncio.gather(*(one(number) for number in range(COUNT)))


async def streamed(client) -> list[np.ndarray]:
    """Returns the outputs in the order of the requests."""
    async def requests():
        for number in range(COUNT):
            yield {"model_name": "mlp", "inputs": row_of(number)}
    outputs = []
    async for result, error in client.stream_infer(requests()):
        if error is not None:  # of this request alone; the stream goes on
            raise error
        outputs.append(result.as_numpy("output")[0])
    return outputs


async def run(address: str) -> None:
    async with triton.InferenceServerClient(address) as client:
        outputs = await at_once(client)
        again = await streamed(client)
    difference = np.abs(np.array(outputs) - np.array(again)).max()
    print(f"{len(outputs)} at once, {len(again)} down a stream; they differ by "
          f"at most {difference:.2g}")


def main() -> int:
    address = sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:8001"
    try:
        asyncio.run(run(address))
    except InferenceServerException as error:
        print(f"many_requests: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

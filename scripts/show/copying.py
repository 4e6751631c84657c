"""C5: the bytes that a large tensor's way through the server moves."""

import contextlib
import os
import struct
import tempfile

import latency
import measuring

DIMS = (3, 224, 224)
PAYLOAD = 4 * DIMS[0] * DIMS[1] * DIMS[2]
OUTSTANDING = 4
MOST = 1.1  # times the payload

CONFIG = f"""backend: "ferry_echo"
max_batch_size: 8
input {{ name: "input" data_type: TYPE_FP32 dims: {list(DIMS)} }}
output {{ name: "output" data_type: TYPE_FP32 dims: {list(DIMS)} }}
dynamic_batching {{}}
"""


@contextlib.contextmanager
def server(programs, **environment):
    """Runs ferry-server with the echo of that image."""
    with tempfile.TemporaryDirectory() as folder:
        os.makedirs(f"{folder}/mlp/1")
        with open(f"{folder}/mlp/config.pbtxt", "w",
                  encoding="utf-8") as stream:
            stream.write(CONFIG)
        kept = dict(os.environ)
        os.environ.update(environment)
        try:
            running = measuring.server(programs, "--model-repository", folder)
            with running as process:
                os.environ.clear()
                os.environ.update(kept)
                yield process
        finally:
            os.environ.clear()
            os.environ.update(kept)


def load(programs, seconds):
    return measuring.closed_loop(programs, OUTSTANDING, seconds,
                                 metrics=False, warm_up=0.5)


def count(programs, seconds):
    """Returns bytes moved a request by gRPC, by all else, and calls."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/counts"
        with server(programs, LD_PRELOAD=programs.path("libcopy-count.so"),
                    FERRY_COPY_COUNT=path):
            def look():
                requests = latency.sums()["ferry_queue_wait_seconds_count"]
                with open(path, "rb") as stream:
                    return (*struct.unpack("3Q", stream.read(24)), requests)

            load(programs, 1)  # what grows has grown
            before = look()
            load(programs, seconds)
            after = look()
    differences = [b - a for a, b in zip(before, after)]
    requests = differences.pop()
    return [difference / requests for difference in differences] + [requests]


def pair(programs, seconds):
    elements = PAYLOAD // 4
    rates = {}
    with server(programs):
        rates["ferry"] = load(programs, seconds)["achieved_rate"]
    with measuring.echo(programs, "--copy", "--input-elements", elements,
                        "--output-elements", elements):
        rates["copying"] = load(programs, seconds)["achieved_rate"]
    return rates


def measure(options):
    result = measuring.describe(
        "C5", f"an image of {PAYLOAD} bytes (3x224x224 FP32) and back, through "
        "the echo backend that returns its staged rows: memcpy and memmove "
        f"move at most {MOST} times its bytes", options.command)
    seconds = options.seconds or 3
    of_grpc, of_others, calls, requests = count(options.programs, seconds)
    share = of_others / PAYLOAD
    pairs = [pair(options.programs, seconds) for _ in range(options.pairs)]
    ratio = measuring.median(p["ferry"] / p["copying"] for p in pairs)
    result |= {"bytes_moved": of_others, "bytes_moved_by_grpc": of_grpc,
               "calls": calls, "requests": requests,
               "share_of_payload": share, "limit": MOST, "pairs": pairs,
               "ratio": ratio, "passed": share <= MOST}
    page = (f"Of {requests:.0f} requests, a request: {of_others:.0f} bytes moved "
            f"by Ferry and all it uses but gRPC, {share:.3f} times the payload; "
            f"{of_grpc:.0f} bytes ({of_grpc / PAYLOAD:.3f}) by gRPC's own "
            f"libraries; {calls:.0f} calls. Counted by libcopy-count.so, which "
            "sees calls of memcpy, memmove and mempcpy in the server's process; "
            "the kernel's copies into and out of the socket are not among "
            "them.\n\n"
            f"{OUTSTANDING} outstanding, against a handler of the generated API "
            f"that parses, copies and serializes (grpc-echo --copy): median "
            f"ratio {ratio:.2f}.\n\n")
    page += measuring.table(
        ["pair", "Ferry/s", "copying/s", "ratio"],
        [[number + 1, f"{p['ferry']:.0f}", f"{p['copying']:.0f}",
          f"{p['ferry'] / p['copying']:.2f}"]
         for number, p in enumerate(pairs)])
    return result, page

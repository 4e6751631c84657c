"""Prints, as JSON, how many rows a second the torch of this Python computes of a
sentence encoder in TorchScript, in bf16:

  python3 encoder_rate.py make FILE EXAMPLES
  python3 encoder_rate.py cuda|cpu FILE SECONDS ROWS..

The first writes it to FILE, of the class MiniLm of EXAMPLES/minilm.py with random
weights; the others compute batches of so many rows of 128 tokens, on a device each
as a CUDA graph, too.

Exit code: 1 with a line where there is no such device or no torch.
"""

import json
import sys
import time

TOKENS, VOCABULARY = 128, 30_522
AT_ONCE = 5  # batches between two looks at the clock


def make(torch, path, examples):
    sys.path.insert(0, examples)
    from minilm import MiniLm  # pylint: disable=import-outside-toplevel
    torch.manual_seed(1)
    module = MiniLm().eval().to(torch.bfloat16)
    with torch.no_grad():
        torch.jit.trace(module, inputs(torch, 2, "cpu"),
                        check_trace=False).save(path)


def inputs(torch, rows, device):
    return (torch.randint(VOCABULARY, (rows, TOKENS), device=device),
            torch.ones((rows, TOKENS), dtype=torch.int64, device=device))


def rate(run, wait, rows, seconds):
    """Returns rows/s."""
    for _ in range(3):
        run()
    wait()
    begun, batches = time.monotonic(), 0
    while batches == 0 or time.monotonic() - begun < seconds:
        for _ in range(AT_ONCE):
            run()
        wait()
        batches += AT_ONCE
    return rows * batches / (time.monotonic() - begun)


def record(torch, run):
    """Returns what launches it as a graph."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            run()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    return graph.replay


def measure(torch, device, path, seconds, sizes):
    on_cpu = device == "cpu"
    wait = (lambda: None) if on_cpu else torch.cuda.synchronize
    model = torch.jit.load(path, map_location=device).eval()
    torch.manual_seed(1)
    batches = []
    for rows in sizes:
        given = inputs(torch, rows, device)

        def run(given=given):
            return model(*given)
        one = {"rows": rows, "eager": rate(run, wait, rows, seconds)}
        one["length"] = float(run().float().norm(dim=1).mean())
        if not on_cpu:
            one["graphs"] = rate(record(torch, run), wait, rows, seconds)
        batches.append(one)
    return {"torch": torch.__version__, "cuda": torch.version.cuda,
            "batches": batches}


def main():
    what, path, *more = sys.argv[1:]
    try:
        import torch  # pylint: disable=import-outside-toplevel
    except ImportError as error:
        sys.exit(f"python3 has no torch: {error}")
    if what == "make":
        make(torch, path, *more)
        return
    if what == "cuda" and not torch.cuda.is_available():
        sys.exit(f"torch {torch.__version__} sees no CUDA device")
    with torch.inference_mode():
        print(json.dumps(measure(torch, what, path, float(more[0]),
                                 [int(size) for size in more[1:]])))


if __name__ == "__main__":
    main()

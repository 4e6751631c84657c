"""Prints, as JSON, how fast the torch of this Python multiplies matrices in bf16:

  python3 peak.py DEVICE SIZE SECONDS

DEVICE is cuda or cpu; the matrices are SIZE x SIZE, of random numbers. What a
network reaches is held against that.

Exit code: 1 with a line where there is no such device or no torch.
"""

import json
import sys
import time


def main():
    name, size, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    try:
        import torch  # pylint: disable=import-outside-toplevel
    except ImportError as error:
        sys.exit(f"python3 has no torch: {error}")
    if name == "cuda" and not torch.cuda.is_available():
        sys.exit("the torch of python3 sees no CUDA device")

    def wait():
        if name == "cuda":
            torch.cuda.synchronize()

    a, b = (torch.randn(size, size, device=name).to(torch.bfloat16)
            for _ in range(2))
    out = torch.empty_like(a)
    for _ in range(3):
        torch.mm(a, b, out=out)
    wait()
    begun, products = time.monotonic(), 0
    while products < 10 or time.monotonic() - begun < seconds:
        for _ in range(5):
            torch.mm(a, b, out=out)
        wait()
        products += 5
    spent = time.monotonic() - begun
    print(json.dumps({"tflops": 2 * size**3 * products / spent / 1e12,
                      "size": size, "products": products, "dtype": "bf16",
                      "torch": torch.__version__}))


if __name__ == "__main__":
    main()

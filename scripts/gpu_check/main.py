"""The command line of scripts/gpu_check.sh, which says what it is.

Errors: exit code 2 and a line for wrong arguments; a step that fails is said in
the report.
"""

import argparse
import importlib.util
import json
import os
import pathlib
import sys

import report
import steps

EXIT_CODES = {report.PASSED: 0, report.FAILED: 1, report.SKIPPED: 77}


def find_torch(folder):
    """Returns the folder of torch, of the flag, FERRY_TORCH or Python's, as
    deploy/bundle/run.sh finds it, or None."""
    if not folder:
        found = importlib.util.find_spec("torch")
        folder = found and next(iter(found.submodule_search_locations or ()),
                                None)
    if not folder:
        return None
    path = pathlib.Path(folder).resolve()
    return path if (path / "lib/libtorch_cpu.so").exists() else None


def parse():
    parser = argparse.ArgumentParser(prog="gpu_check.sh")
    parser.add_argument("--device")
    parser.add_argument("--torch", default=os.environ.get("FERRY_TORCH"))
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("."))
    parser.add_argument("--bundle", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parents[2])
    options = parser.parse_args()
    options.bundle = options.bundle.resolve()
    if not (options.bundle / "bin").is_dir():
        parser.error(f"expected an unpacked bundle with bin/, got "
                     f"{options.bundle}; --bundle DIR")
    if not 0.1 <= options.seconds <= 600:
        parser.error(f"--seconds: expected 0.1 to 600, got {options.seconds}")
    if options.device == "cpu":
        parser.error("--device: expected a device, got cpu, which is run anyway")
    asked = options.torch
    options.torch = find_torch(asked)
    if asked and options.torch is None:
        parser.error(f"--torch: expected lib/libtorch_cpu.so in {asked}, got "
                     "none")
    return options


def main():
    options = parse()
    options.out.mkdir(parents=True, exist_ok=True)
    if options.torch is not None:
        os.environ["FERRY_TORCH"] = str(options.torch)
    # gRPC would ask a proxy for loopback, too.
    os.environ["no_proxy"] = os.environ["NO_PROXY"] = "127.0.0.1"
    check = steps.Check(options)
    begin = report.header(check)
    steps.look_at_devices(check)
    print("\n".join(report.describe({**begin, **report.facts(check)})),
          flush=True)
    steps.list_calls(check)
    steps.run_gpu_tests(check)
    steps.run_sanitizer(check)
    for device in (check.device, "cpu"):
        steps.serve(check, device)
        steps.forward(check, device)
    made = report.make(check, begin)
    path = options.out / "ferry-gpu-check.json"
    path.write_text(json.dumps(made, indent=1) + "\n")
    text = report.summary(made)
    path.with_suffix(".txt").write_text(text)
    print(text.splitlines()[-1])
    print(f"{path} and {path.with_suffix('.txt').name} have all of it")
    return EXIT_CODES[made["outcome"]]


if __name__ == "__main__":
    sys.exit(main())

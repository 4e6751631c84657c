"""The command line of scripts/gpu_check.sh, which says what it is.

Errors: exit code 2 and a line for wrong arguments; a step that fails is said in
the report.
"""

import argparse
import importlib.util
import json
import os
import pathlib
import signal
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import lost_device
import measures
import networks
import report
import sanitizer
import serving_checks
import steps
import torches
from replaced_file import replace

BATCHES = (1, 2, 4, 8, 16, 32, 64, 128)
# Where runtimes of containers put the driver's libraries; not on the loader's
# path in each of them.
DRIVER_LIBRARIES = pathlib.Path("/usr/local/nvidia/lib64")
# In the order in which they run. A driver that does not take a lost device well
# disturbs nothing before it; tools are last, since they may take the longest.
SERVING = tuple(serving_checks.TITLES)
MEMCHECKS = tuple(f"memcheck-{name}" for name in SERVING)
PARTS = ("programs", *SERVING, "measure", "torches", "lost-device", "memcheck",
         *MEMCHECKS)
# What `--only` takes for several.
GROUPS = {"serving": SERVING, "memcheck-serving": MEMCHECKS}
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


def sizes(text):
    """Returns the ascending batch sizes of "1,8,64"."""
    try:
        made = sorted({int(size) for size in text.split(",")})
    except ValueError:
        made = []
    if not made or not 1 <= made[0] <= made[-1] <= 65536:
        raise argparse.ArgumentTypeError(
            f"expected sizes of 1 to 65536 as 1,8,64, got {text!r}")
    return made


def parts(text):
    """Returns the parts of "cycles,lost-device"."""
    named = text.split(",")
    unknown = [name for name in named if name not in (*PARTS, *GROUPS)]
    if unknown:
        raise argparse.ArgumentTypeError(
            f"expected some of {', '.join((*PARTS, *GROUPS))}, got "
            f"{unknown[0]!r}")
    return {part for name in named for part in GROUPS.get(name, (name,))}


def network(text):
    try:
        return networks.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def make_parser():
    parser = argparse.ArgumentParser(prog="gpu_check.sh", allow_abbrev=False)
    parser.add_argument("--device")
    parser.add_argument("--torch", default=os.environ.get("FERRY_TORCH"))
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("."))
    parser.add_argument("--bundle", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parents[2])
    parser.add_argument("--no-sanitizer", action="store_true")
    parser.add_argument("--no-control", action="store_true")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--no-measure", action="store_true")
    which.add_argument("--only-measure", action="store_true")
    which.add_argument("--only", type=parts, dest="parts")
    parser.add_argument("--other-torch", type=pathlib.Path)
    parser.add_argument("--network", type=network, action="append",
                        dest="networks")
    parser.add_argument("--batch", type=sizes, default=list(BATCHES),
                        dest="batches")
    parser.add_argument("--model-dir", type=pathlib.Path, action="append",
                        default=[], dest="model_dirs")
    parser.add_argument("--measure-on")
    return parser


def parse():
    parser = make_parser()
    options = parser.parse_args()
    options.networks = options.networks or [
        networks.parse(name) for name in networks.DEFAULT]
    options.model_dirs = [folder.resolve() for folder in options.model_dirs]
    options.bundle = options.bundle.resolve()
    if not (options.bundle / "bin").is_dir():
        parser.error(f"expected an unpacked bundle with bin/, got "
                     f"{options.bundle}; --bundle DIR")
    if not 0.1 <= options.seconds <= 600:
        parser.error(f"--seconds: expected 0.1 to 600, got {options.seconds}")
    if options.device == "cpu":
        parser.error("--device: expected a device, got cpu, which is run anyway")
    if options.measure_on not in (None, "cpu"):
        parser.error(f"--measure-on: expected cpu, got {options.measure_on}; "
                     "--device names a device")
    options.parts = chosen(options)
    if options.other_torch is not None and not (
            options.other_torch / "__init__.py").exists():
        parser.error("--other-torch: expected the folder torch/ of Python's "
                     f"torch, got {options.other_torch}")
    asked = options.torch
    options.torch = find_torch(asked)
    if asked and options.torch is None:
        parser.error(f"--torch: expected lib/libtorch_cpu.so in {asked}, got "
                     "none")
    return options


def chosen(options):
    """Returns the parts that are to run."""
    if options.parts is not None:
        return options.parts
    if options.only_measure:
        return {"measure"} | ({"torches"} if options.other_torch else set())
    left_out = {"measure", "torches"} if options.no_measure else set()
    if options.no_sanitizer:
        left_out |= {"memcheck", *MEMCHECKS}
    return set(PARTS) - left_out


def prepare_environment(options):
    """Sets what the programs are to find."""
    if options.torch is not None:
        os.environ["FERRY_TORCH"] = str(options.torch)
    # gRPC would ask a proxy for loopback, too.
    os.environ["no_proxy"] = os.environ["NO_PROXY"] = "127.0.0.1"
    if DRIVER_LIBRARIES.is_dir():
        folders = os.environ.get("LD_LIBRARY_PATH", "").split(":")
        os.environ["LD_LIBRARY_PATH"] = ":".join(
            [*filter(None, folders), str(DRIVER_LIBRARIES)])
    # What was started ends with this program.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))


def run_programs(check, devices):
    steps.list_calls(check)
    steps.run_gpu_tests(check)
    for device in devices:
        steps.serve(check, device)
        steps.forward(check, device)


def run_parts(check, options):
    wanted = options.parts
    devices = [check.device, *([] if options.no_control else ["cpu"])]
    with serving_checks.Checks(check) as serving:
        if "programs" in wanted:
            run_programs(check, devices)
        for device in devices:
            serving_checks.run_all(serving, device, wanted)
        if "measure" in wanted:
            measures.Measures(check, options).run_all()
        if "torches" in wanted:
            torches.Torches(check, options).run_all()
        if "lost-device" in wanted:
            lost_device.lose(check)
        if "memcheck" in wanted:
            sanitizer.run_all(check)
        serving_checks.run_all(
            serving, check.device,
            {name.removeprefix("memcheck-")
             for name in wanted.intersection(MEMCHECKS)},
            serving_checks.SMALL)


def main():
    options = parse()
    options.out.mkdir(parents=True, exist_ok=True)
    prepare_environment(options)
    check = steps.Check(options)
    begin = report.header(check)
    path = options.out / "ferry-gpu-check.json"

    def save(is_finished=False):
        made = report.make(check, begin, is_finished)
        replace(path, json.dumps(made, indent=1) + "\n")
        replace(path.with_suffix(".txt"), report.summary(made))
        return made

    steps.look_at_devices(check)
    print("\n".join(report.describe({**begin, **report.facts(check)})),
          flush=True)
    # Ended early, it leaves what there is.
    check.after_step = save
    run_parts(check, options)
    made = save(is_finished=True)
    print(report.summary(made).splitlines()[-1])
    print(f"{path} and {path.with_suffix('.txt').name} have all of it")
    return EXIT_CODES[made["outcome"]]


if __name__ == "__main__":
    sys.exit(main())

"""channels-last: a TorchScript model of convolutions with its channels last in
memory, as ferry-server has it, against channels first, as the file has it.

The model is a ResNet-18 with synthetic weights, in bf16 on one thread; what
ferry-forward tells is the forward alone.
"""

import json
import os
import pathlib
import subprocess
import tempfile

import measuring

BATCHES = (1, 4, 16)
CONFIG = """platform: "pytorch_libtorch"
max_batch_size: 16
default_model_filename: "residual.pt"
input { name: "x" data_type: TYPE_FP32 dims: [ 3, 224, 224 ] }
output { name: "y" data_type: TYPE_FP32 dims: [ 1000 ] }
parameters { key: "ferry.threads" value { string_value: "1" } }
parameters { key: "ferry.buckets" value { string_value: "1,4,16" } }
parameters { key: "ferry.channels_last" value { string_value: "%s" } }
"""
LEAST = 1.0  # ratio of rows/s


def write_models(programs, folder):
    """Returns the model's folder by whether it has channels last."""
    folders = {}
    for is_last, name in ((True, "last"), (False, "first")):
        model = pathlib.Path(folder) / name
        os.makedirs(model / "1")
        measuring.run([programs.folder.parent / "tests/write_scripts",
                       model / "1", "residual"])
        (model / "config.pbtxt").write_text(CONFIG % str(is_last).lower(),
                                            encoding="utf-8")
        folders[is_last] = model
    return folders


def rates(programs, folder, seconds):
    """Returns rows/s by the batch's rows."""
    flags = [word for rows in BATCHES for word in ("--batch", rows)]
    path = f"{folder}.json"
    done = subprocess.run(
        [str(word) for word in (
            programs.path("ferry-forward"), "--model-dir", folder, "--threads",
            1, "--seconds", seconds, *flags, "--json", path)],
        capture_output=True, text=True, check=False)
    if done.returncode != 0 or "falls back" in done.stderr:
        raise measuring.Failure(f"expected a forward in the layout that the "
                                f"config asks for, got: {done.stderr[-2000:]}")
    with open(path, encoding="utf-8") as stream:
        return {batch["rows"]: batch["rows_per_second"]
                for batch in json.load(stream)["batches"]}


def measure(options):
    result = measuring.describe(
        "channels-last", "a TorchScript ResNet-18 in bf16 is at least as fast "
        "with channels last as with channels first", options.command)
    pairs = []
    with tempfile.TemporaryDirectory() as folder:
        models = write_models(options.programs, folder)
        for number in range(max(options.pairs, 5)):
            turns = [True, False] if number % 2 else [False, True]
            done = {is_last: rates(options.programs, models[is_last],
                                   options.seconds or 1) for is_last in turns}
            pairs.append({"last": done[True], "first": done[False]})
            measuring.say(f"pair {number + 1}: {pairs[-1]}")
    rows, passed = [], True
    for batch in BATCHES:
        ratios = sorted(pair["last"][batch] / pair["first"][batch]
                        for pair in pairs)
        ratio = measuring.median(ratios)
        passed = passed and ratio >= LEAST
        rows.append([batch, *(f"{measuring.median(p[kind][batch] for p in pairs):.1f}"
                              for kind in ("first", "last")),
                     f"{ratio:.2f}", f"{ratios[0]:.2f} to {ratios[-1]:.2f}"])
    result |= {"pairs": pairs,
               "passed": passed if measuring.has_bf16() else None}
    return result, (
        "Medians of rows/s and of the ratios of pairs; one thread.\n\n" +
        measuring.table(["rows", "channels first", "channels last", "ratio",
                         "ratios"], rows))

"""B5: MiniLM as .pt, .pt2 and int8: the same embeddings? which is faster?

Exports the five folders with scripts/export.sh where build/exported lacks them,
which needs all of torch: .venv after `scripts/setup.sh --full`, or the Python
that FERRY_EXPORT_PYTHON names. Served and measured they need only Ferry.
"""

import json
import os
import pathlib
import subprocess

import measuring

TOKENS = 128
ROWS = [1, 8, 32]
BASE = "minilm-pt"
# Cosine with the reference in fp32 that bf16 has to reach, and that int8
# with activations of 8 bits reaches.
BF16_COSINE, INT8_COSINE = 0.999, 0.99
# Model: (flags of the export, least cosine, in words).
MODELS = {
    "minilm-pt": (["--format", "pt"], BF16_COSINE, ".pt, bf16"),
    "minilm-pt2": (["--format", "pt2"], BF16_COSINE, ".pt2, bf16"),
    "minilm-pt2-fp32": (["--format", "pt2", "--dtype", "fp32"], BF16_COSINE,
                        ".pt2, fp32"),
    "minilm-int8-weights": (["--dtype", "int8", "--int8", "weight-only"],
                            BF16_COSINE, ".pt2, int8 weight-only"),
    "minilm-int8-dynamic": (["--dtype", "int8", "--int8", "dynamic"],
                            INT8_COSINE, ".pt2, int8 dynamic"),
}
REPOSITORY = measuring.ROOT / "build" / "exported"
EXAMPLE = "examples/export/minilm.py"
PUBLISHED = measuring.ROOT / "build" / "model_repository" / "minilm"
REFERENCE = measuring.ROOT / "tests" / "data" / "minilm" / "reference.json"


def export_python():
    """Returns a Python that has torch, or fails with what to run."""
    python = os.environ.get("FERRY_EXPORT_PYTHON",
                            str(measuring.ROOT / ".venv/bin/python"))
    try:
        has_torch = subprocess.run([python, "-c", "import torch"],
                                   capture_output=True, check=False)
    except OSError as error:
        raise measuring.Failure(f"{python}: {error.strerror}") from error
    if has_torch.returncode != 0:
        raise measuring.Failure(
            f"{python} cannot import torch, which exporting needs: run "
            "scripts/setup.sh --full, or set FERRY_EXPORT_PYTHON to a Python "
            "that can")
    return python


def export_missing(programs):
    """Makes the folders that are not there; each takes a minute or two."""
    measuring.run(["bash", measuring.ROOT / "scripts/make_minilm.sh"])
    for name, (flags, _, _) in MODELS.items():
        if (REPOSITORY / name).exists():
            continue
        measuring.say(f"exporting {name}")
        measuring.run(
            [measuring.ROOT / "scripts/export.sh", f"{EXAMPLE}:MiniLm",
             "--weights", PUBLISHED / "1" / "model.safetensors", "--samples",
             f"{EXAMPLE}:sentences", "--input", f"input_ids:INT64:-1,{TOKENS}",
             "--input", f"attention_mask:INT64:-1,{TOKENS}", "--output",
             "embedding", "--repository", REPOSITORY, "--name", name,
             "--server", programs.path("ferry-server"), *flags],
            cwd=measuring.ROOT,
            env={**os.environ, "FERRY_EXPORT_PYTHON": export_python()})


def embed(programs, name):
    """Returns (smallest cosine, largest error, resident MB) of the served
    sentences against the reference."""
    import numpy as np
    import tritonclient.grpc as triton
    sentences = json.loads(REFERENCE.read_text())["sentences"]
    expected = np.array([s["embedding"] for s in sentences])
    arrays = {n: np.zeros((len(sentences), TOKENS), np.int64)
              for n in ("input_ids", "attention_mask")}
    for row, sentence in enumerate(sentences):
        count = len(sentence["input_ids"])
        arrays["input_ids"][row, :count] = sentence["input_ids"]
        arrays["attention_mask"][row, :count] = 1
    inputs = []
    for key, array in arrays.items():
        inputs.append(triton.InferInput(key, list(array.shape), "INT64"))
        inputs[-1].set_data_from_numpy(array)
    with measuring.server(programs, "--model-repository", REPOSITORY,
                          model=name) as server:
        with triton.InferenceServerClient(measuring.ADDRESS) as client:
            found = client.infer(name, inputs).as_numpy("embedding")
        memory = measuring.resident_mb(server.pid)
    lengths = np.linalg.norm(found, axis=1) * np.linalg.norm(expected, axis=1)
    cosine = float(np.min(np.sum(found * expected, axis=1) / lengths))
    return {"cosine": cosine,
            "max_error": float(np.max(np.abs(found - expected))),
            "resident_mb": memory, "file_mb": file_mb(name)}


def file_mb(name):
    return sum(f.stat().st_size for f in pathlib.Path(REPOSITORY / name / "1")
               .iterdir()) / 1e6


def forward(programs, folder, seconds):
    """Returns milliseconds a batch by rows, of ferry-forward on one thread."""
    result = programs.json_of(
        "ferry-forward", "--model-dir", str(folder), "--threads", "1",
        "--seconds", str(seconds), "--batch", ",".join(map(str, ROWS)))
    return {batch["rows"]: batch["total_ms"] for batch in result["batches"]}


def play_pairs(options):
    """Returns turns, in each every model once; every other one backwards."""
    turns = []
    names = list(MODELS)
    for number in range(max(options.pairs, 5)):
        order = names if number % 2 == 0 else names[::-1]
        turn = {name: forward(options.programs, REPOSITORY / name,
                              options.seconds or 0.3) for name in order}
        turns.append({name: turn[name] for name in names})
        measuring.say(f"turn {number + 1}: " + ", ".join(
            f"{name} {turn[name][1]:.1f} ms" for name in names))
    return turns


def speed(turns, name, rows):
    """Returns the median over the turns of how many times as fast as .pt."""
    return measuring.median(turn[BASE][rows] / turn[name][rows]
                            for turn in turns)


def measure(options):
    result = measuring.describe(
        "B5", f"MiniLM as .pt, .pt2 and int8 weight-only: cosine with fp32 at "
        f"least {BF16_COSINE}, of int8 dynamic {INT8_COSINE}; how fast each "
        "is has no goal", options.command)
    export_missing(options.programs)
    accuracy = {name: embed(options.programs, name) for name in MODELS}
    turns = play_pairs(options)
    result["accuracy"] = accuracy
    result["turns"] = turns
    result["speed_against_pt"] = {
        name: {rows: speed(turns, name, rows) for rows in ROWS}
        for name in MODELS}
    result["passed"] = all(accuracy[name]["cosine"] >= least
                           for name, (_, least, _) in MODELS.items())
    return result, page(result)


def page(result):
    accuracy, turns = result["accuracy"], result["turns"]
    text = ("Ten sentences, served, against the reference in fp32; memory is "
            "the server's, with libtorch, after the answer.\n\n")
    text += measuring.table(
        ["model", "cosine, smallest", "max abs error", "file MB",
         "resident MB"],
        [[words, f"{accuracy[name]['cosine']:.6f} (at least {least})",
          f"{accuracy[name]['max_error']:.2g}",
          f"{accuracy[name]['file_mb']:.1f}",
          f"{accuracy[name]['resident_mb']:.0f}"]
         for name, (_, least, words) in MODELS.items()])
    text += (f"\n`ferry-forward`, one thread, {TOKENS} tokens a row: "
             "milliseconds a batch, median of the turns, and in brackets how "
             "many times as fast as .pt, median of the turns' ratios.\n\n")
    text += measuring.table(
        ["model", *[f"b = {rows}" for rows in ROWS]],
        [[words, *[
            f"{measuring.median(t[name][rows] for t in turns):.1f} "
            f"({speed(turns, name, rows):.2f})" for rows in ROWS]]
         for name, (_, _, words) in MODELS.items()])
    return text + "\nEach turn:\n\n" + measuring.table(
        ["turn", *[f"{words}, b = {rows}" for _, _, words in MODELS.values()
                   for rows in ROWS]],
        [[number + 1, *[f"{turn[name][rows]:.1f}" for name in MODELS
                        for rows in ROWS]]
         for number, turn in enumerate(turns)])

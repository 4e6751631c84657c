"""The encoder with another torch beside the one that serves, as a share of its
rows/s: a public report says that pooling lost 13 to 18 % on an H100 from torch 2.11
on. Both compute the same TorchScript file in Python, in turns. Ferry itself cannot
be measured with both: it is compiled for one version of LibTorch, whose C++ types
it shares (docs/decisions/0054-two-torches.md).

Errors: those of a step are its outcome.
"""

import json
import os
import pathlib
import statistics
import sys
import tempfile

from programs import Wrong, run
from steps import Skip

TURNS = 3
LOAD_S = 1  # of a size and mode, at most
BATCH_S, START_S = 30, 120  # at most, beside the loads
PROGRAM = pathlib.Path(__file__).with_name("encoder_rate.py")


class Torches:
    """The step."""

    def __init__(self, check, options):
        self.check = check
        self.device = options.measure_on or check.device
        self.other = options.other_torch
        self.batches = options.batches
        self.seconds = min(LOAD_S, check.seconds)

    def run_all(self):
        check = self.check
        with check.step("measure the encoder with two torches",
                        self.device) as kept, \
                tempfile.TemporaryDirectory() as folder:
            if self.other is None:
                raise Skip("no other torch: --other-torch DIR")
            check.need(self.device)
            check.need_torch()
            examples = check.home / "export" / "examples"
            if not examples.is_dir():
                raise Skip("the bundle has no export/")
            file = pathlib.Path(folder) / "encoder.pt"
            # The older one's file is read by the newer, not always the other
            # way round.
            self.call(kept, self.other, "make", file, examples)
            folders = check.torch, self.other
            found = {folder: [] for folder in folders}
            for turn in range(TURNS):
                for folder in folders[::1 if turn % 2 else -1]:
                    found[folder].append(self.measure(kept, folder, file))
            kept["torches"] = self.compare(*found.values())
            kept["figures"] = dict(lines(kept["torches"]))

    def call(self, kept, folder, *words):
        """Runs the program with that torch; returns what it printed."""
        on_cpu = self.device == "cpu"
        paths = [str(folder.resolve().parent),
                 *filter(None, [os.environ.get("PYTHONPATH")])]
        ended = run(
            [sys.executable, "-B", PROGRAM, *words],
            START_S + len(self.batches) * (BATCH_S + 2 * self.seconds),
            {**({} if on_cpu else self.check.visible),
             "PYTHONPATH": os.pathsep.join(paths)})
        kept["output"] = ended.tail
        ended.require_success()
        return ended.output

    def measure(self, kept, folder, file):
        return json.loads(self.call(
            kept, folder, "cpu" if self.device == "cpu" else "cuda", file,
            self.seconds, *self.batches))

    def compare(self, own, other):
        """Returns medians of the turns, and their ratio."""
        versions = own[0]["torch"], other[0]["torch"]
        if versions[0] == versions[1]:
            raise Wrong("expected another version of torch in --other-torch, got "
                        f"{versions[1]} in both")
        made = {"torch": versions[0], "other_torch": versions[1],
                "cuda": own[0]["cuda"], "other_cuda": other[0]["cuda"],
                "turns": TURNS, "batches": []}
        for at, first in enumerate(own[0]["batches"]):
            one = {"rows": first["rows"]}
            for mode in ("eager", "graphs"):
                if mode not in first:
                    continue
                rates = [[turn["batches"][at][mode] for turn in turns]
                         for turns in (own, other)]
                medians = [statistics.median(all_of) for all_of in rates]
                one[mode] = {
                    "rows_per_second": medians[0],
                    "other_rows_per_second": medians[1],
                    "ratio": medians[0] / medians[1],
                    # Single turns show what the machine alone changes.
                    "ratios": sorted(a / b for a, b in zip(*rates))}
            lengths = first["length"], other[0]["batches"][at]["length"]
            if any(not abs(length - 1) < 0.02 for length in lengths):
                raise Wrong("expected embeddings of length 1 of both, got "
                            f"{lengths[0]:.3f} and {lengths[1]:.3f}")
            made["batches"].append(one)
        return made


def lines(made):
    """Yields what a batch came to, each with its name."""
    for batch in made["batches"]:
        for mode, of in batch.items():
            if mode != "rows":
                yield (f"{batch['rows']} rows, {mode}",
                       f"{of['rows_per_second']:.1f} rows/s of torch "
                       f"{made['torch']}, {of['other_rows_per_second']:.1f} of "
                       f"{made['other_torch']}: {of['ratio']:.3f} "
                       f"({of['ratios'][0]:.3f} to {of['ratios'][-1]:.3f})")

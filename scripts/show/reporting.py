"""E5: the report of a full sweep, and the pictures of it.

`mlp` in bf16 with batching off and on, by each policy, up to its saturation; a
search and a tune of the same server. Leaves, beside E5.json and E5.md, the results
E5-sweep.json and E5-tune.json, of which `ferry-bench report` makes the pages (in
build/, as they carry the charting library), and screenshots of the first,
of which the wide and light one is the README's picture.
"""

import contextlib
import io
import json
import os
import pathlib
import sys
import tempfile

import measuring

TESTS = measuring.ROOT / "tests/e2e"
MAIN_RESULTS = measuring.ROOT / "bench" / "results"
PICTURE = measuring.ROOT / "docs" / "latency-vs-utilization.png"
LOADS = "0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9,0.95"
FEW_LOADS = "0.2,0.4,0.6,0.8,0.9"
# Label: flags of the server, loads, saturation's outstanding requests, and how much
# longer its windows are: at a tenth of the rate a p99 takes ten times as long to have
# ten latencies above it (docs/bench.md).
SWEEPS = {
    "batching off": (("--max-batch-size", 1), FEW_LOADS, 64, 2.5),
    "eager": ((), LOADS, 256, 1),
    "window": (("--policy", "window", "--max-wait-ms", 5), FEW_LOADS, 256, 1),
    "adaptive": (("--policy", "adaptive", "--max-wait-ms", 5), FEW_LOADS, 256,
                 1),
}
SECONDS = 10  # of a window of a sweep; eleven minutes in all
SEARCH_SECONDS = 5
WARM_UP_SECONDS = 1  # of a sweep's
MOST_AGAIN = 1  # sweeps that are measured again, as the client was late
P99_TAKES = 1000  # requests
BOUND_MS = 60
TUNE = ("--policies", "eager,window", "--max-batch-sizes", "64,32",
        "--max-waits-ms", "2,10", "--precision", "0.1", "--confirmations", 1)
SHOTS = {"wide-light": (1600, False), "wide-dark": (1600, True),
         "narrow-light": (390, False), "narrow-dark": (390, True)}
MOST_BYTES = 300_000
TOP_PIXELS = 860  # of the README's picture: verdict and first chart


def bench(programs, command, path, *arguments, warm_up=0.5):
    """Measures into that file. A search that finds no rate says so in it."""
    try:
        measuring.run([programs.path("ferry-bench"), command, "-u",
                       measuring.ADDRESS, "--metrics",
                       f"127.0.0.1:{measuring.METRICS_PORT}", "-m", "mlp",
                       "--warm-up-secs", warm_up, "--slo-ms", BOUND_MS,
                       "--json", path.name, *arguments],
                      cwd=path.parent)  # a page quotes its commands
    except measuring.Failure as failure:
        if not path.exists():
            raise
        measuring.say(f"{failure}")
    measuring.say(f"{command}: {path.stem}")
    return path


def doubts(points):
    """Returns what of these points, of one run, is not to be believed."""
    return [f"{point['loop']}, {point['offered_rate']:.0f}/s: {why}"
            for point in points
            for why in [point["void_reason"] or
                        (f"only {point['ok']} requests" if
                         point["ok"] < P99_TAKES else "")] if why]


def doubts_of(path):
    with open(path, encoding="utf-8") as stream:
        return [doubt for run in json.load(stream)["runs"]
                for doubt in doubts(run["points"])]


def sweep(programs, folder, seconds):
    """Returns the files of the sweeps. Client and server have a core each, where
    there are two: the client sends in time whatever the server does. The first sweep
    with a void point is measured once more, and the one with fewer is kept: by what
    voids a point, which is of the client alone."""
    cores = sorted(os.sched_getaffinity(0))
    paths = []
    again = MOST_AGAIN
    for label, (flags, loads, outstanding, longer) in SWEEPS.items():
        with contextlib.ExitStack() as stack:
            with measuring.on_cores(cores[:-1] or cores):
                stack.enter_context(measuring.server(programs, *flags))
            stack.enter_context(measuring.on_cores(cores[-1:]))
            tried = []
            for number in range(1 + again):
                tried.append(bench(
                    programs, "run", folder / f"{label} {number}.json",
                    "--label", label, "--outstanding", outstanding,
                    "--saturation-outstanding", outstanding, "--loads", loads,
                    "--duration-secs", seconds * longer,
                    warm_up=WARM_UP_SECONDS))
                if not doubts_of(tried[-1]):
                    break
            again -= len(tried) - 1
            paths.append(min(tried, key=lambda path: len(doubts_of(path))))
    return paths


def search_and_tune(programs, folder, seconds):
    """Returns the files of a search and a tune."""
    with measuring.server(programs, "--admin-rpc"):
        return [
            bench(programs, "search", folder / "search.json", "--label",
                  "search", "--duration-secs", seconds),
            bench(programs, "tune", folder / "tune.json", "--duration-secs",
                  seconds / 2, *TUNE)]


def report(programs, paths, name, *flags):
    """Writes the page and the joined results; returns the page and its table."""
    page = measuring.ROOT / "build" / f"{name}.html"
    path = measuring.RESULTS / f"{name}.json"
    measuring.RESULTS.mkdir(parents=True, exist_ok=True)
    measuring.run([programs.path("ferry-bench"), "report", *paths, "--html",
                   page, "--json", path,
                   "--markdown", page.with_suffix(".table"), *flags])
    joined = json.loads(path.read_text())
    for run in joined["runs"]:
        for point in run["points"]:
            point.pop("histograms", None)  # no page draws them; the larger half
    measuring.replace(path, json.dumps(joined, separators=(",", ":")) + "\n")
    table = page.with_suffix(".table")
    text = table.read_text(encoding="utf-8")
    table.unlink()
    return page, text


def small_png(png, height=None):
    """Returns a PNG of 128 colours, cut to a height."""
    from PIL import Image  # of requirements/show.txt
    image = Image.open(io.BytesIO(png)).convert("RGB")
    if height:
        image = image.crop((0, 0, image.width, min(height, image.height)))
    small = io.BytesIO()
    image.quantize(128, dither=Image.Dither.NONE).save(small, "PNG",
                                                       optimize=True)
    return small.getvalue()


def shoot(page, prefix="E5"):
    """Writes the screenshots and returns what each page said, by its name."""
    sys.path.append(str(TESTS))
    import browser
    if not browser.CHROMIUM:
        raise measuring.Failure("chromium is not installed; scripts/setup.sh "
                                "--browser")
    told = {}
    for name, (width, is_dark) in SHOTS.items():
        seen = browser.Page(page, width, is_dark, shoots=True)
        png = small_png(seen.screenshot)
        path = measuring.RESULTS / f"{prefix}-{name}.png"
        measuring.replace(path, png)
        told[name] = {"console": seen.console, "fetched": seen.told["fetched"],
                      "scrolls_sideways":
                          seen.told["documentWidth"] > seen.told["width"],
                      "blank": [canvas["label"]
                                for canvas in seen.told["canvases"]
                                if canvas["colors"] < 8],
                      "charts": len(seen.told["canvases"]), "bytes": len(png)}
        if (name == "wide-light" and prefix == "E5" and
                measuring.RESULTS == MAIN_RESULTS):
            measuring.replace(PICTURE, small_png(seen.screenshot, TOP_PIXELS))
    return told


def is_clean(seen):
    return (seen["charts"] > 0 and seen["bytes"] <= MOST_BYTES and
            not (seen["console"] or seen["fetched"] or seen["blank"] or
                 seen["scrolls_sideways"]))


def shots_table(told, prefix="E5"):
    return measuring.table(
        ["screenshot", "charts", "on the console", "fetched", "blank", "bytes"],
        [[f"[{name}]({prefix}-{name}.png)", seen["charts"],
          len(seen["console"]), len(seen["fetched"]), len(seen["blank"]),
          seen["bytes"]] for name, seen in told.items()])


def told_doubts(doubted):
    some = [f"- {label}: {doubt}" for label, all_of in doubted.items()
            for doubt in all_of]
    if not some:
        return ("No point of the sweep is void, and each p99 has ten latencies above "
                "it.\n\n")
    return "Not to be believed of the sweep:\n\n" + "\n".join(some) + "\n\n"


PAGES = """The pages: `ferry-bench report bench/results/E5-sweep.json --html
sweep.html`, and E5-tune.json, search and tune, likewise. Of histograms they have those
of the latency alone, which the pages draw.

"""


def measure(options):
    result = measuring.describe(
        "E5", "a full sweep as one page, without a void point or a p99 of too few "
        "requests: nothing on the console, no request, every chart drawn, light and "
        "dark, narrow and wide", options.command)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        sweeps = sweep(options.programs, folder, options.seconds or SECONDS)
        doubted = {path.stem.rsplit(" ", 1)[0]: doubts_of(path)
                   for path in sweeps}
        tunes = search_and_tune(options.programs, folder,
                                options.seconds or SEARCH_SECONDS)
        page, table = report(options.programs, sweeps, "E5-sweep")
        _, tune_table = report(options.programs, tunes, "E5-tune")
    told = shoot(page)
    result |= {"pages": told, "doubts": doubted, "slo_ms": BOUND_MS,
               "passed": all(is_clean(seen) for seen in told.values()) and
                         not any(doubted.values())}
    text = PAGES + told_doubts(doubted)
    text += shots_table(told)
    return result, text + "\n## Sweep\n\n" + table + "\n## Tune\n\n" + tune_table

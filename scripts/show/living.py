"""live-page: the server's own page after some minutes of a load that rises and falls,
in a real browser, light and dark, narrow and wide. Leaves the pictures.
"""

import pathlib
import sys
import tempfile

import load_signal
import measuring
import reporting
import simulating

LOADS = (0.1, 0.3, 0.6, 0.9, 1.1, 0.8, 0.5, 0.3, 0.1)
STEP_S = 20


def play(options):
    """Returns the page and what /status.json says at the end of the load."""
    with simulating.server(options.programs, load_signal.REAL_MS["alpha_ms"],
                           load_signal.REAL_MS["beta_ms"], load_signal.FULL,
                           "--policy", "adaptive", "--max-wait-ms", 20):
        for load in LOADS:
            rate = load * load_signal.capacity(load_signal.REAL_MS)
            options.programs.json_of(
                "ferry-bench", "run", "-u", measuring.ADDRESS, "-m", "sim",
                "--rates", f"{rate:g}", "--duration-secs",
                str(options.seconds or STEP_S), "--warm-up-secs", "0")
        return measuring.page("/"), measuring.page("/status.json")


def measure(options):
    result = measuring.describe(
        "live-page", "the live page draws every chart without a complaint or a "
        "request to anywhere else, light and dark, narrow and wide",
        options.command)
    text, told = play(options)
    sys.path.append(str(reporting.TESTS))
    import browser  # pylint: disable=import-outside-toplevel
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder) / "live.html"
        page.write_text(browser.with_status(text, told), encoding="utf-8")
        seen = reporting.shoot(page, "live")
    result |= {"pages": seen, "loads": LOADS, "simulated": True,
               "passed": all(map(reporting.is_clean, seen.values()))}
    page = (f"The device is simulated. Loads of {', '.join(map(str, LOADS))}, "
            f"{options.seconds or STEP_S:g} s each, policy adaptive; then the page "
            "as it is, with that /status.json.\n\n" + reporting.shots_table(
                seen, "live"))
    return result, page

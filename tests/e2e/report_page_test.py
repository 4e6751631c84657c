"""The report page in a real browser: light and dark, narrow and wide, without a
word on the console, without a request, with something drawn in each chart."""

import itertools
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import browser

FERRY_BENCH = os.environ["FERRY_BENCH"]
ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data" / "report"
PRICES = ("--prices", ROOT / "examples" / "prices.json", "--device", "V100-16GB",
          "--kind", "on_demand")
WIDTHS = (390, 1600)
LEAST_COLORS = 8  # text and lines are smoothed: what is drawn has many

# Pages by name: the files and flags they are made of, and the sections that
# have a canvas.
PAGES = {
    "every_part": (
        (DATA / "every_part.json", "--slo-ms", 10, *PRICES),
        {"utilization", "offered", "throughput", "rows", "money", "breakdown",
         "percentiles", "batches", "closes", "timeline"}),
    "older_file": (
        (ROOT / "bench" / "results" / "demo.json",),
        {"utilization", "offered", "throughput", "rows", "percentiles"}),
    "many_runs": (
        (DATA / "settings.json",),
        {"utilization", "offered", "throughput", "rows", "percentiles",
         "timeline"}),
}


class ReportPageTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        if not browser.CHROMIUM:
            raise unittest.SkipTest("chromium is not installed: "
                                    "scripts/setup.sh --browser")
        folder = tempfile.TemporaryDirectory(prefix="ferry-e2e-")
        cls.addClassCleanup(folder.cleanup)
        cls.paths = {}
        for name, (flags, _) in PAGES.items():
            cls.paths[name] = pathlib.Path(folder.name) / f"{name}.html"
            subprocess.run([FERRY_BENCH, "report", *map(str, flags), "--html",
                            cls.paths[name]], check=True, capture_output=True)

    def look(self, name):
        """Yields the page in each combination of width and colours."""
        for width, is_dark in itertools.product(WIDTHS, (False, True)):
            with self.subTest(page=name, width=width, dark=is_dark):
                page = browser.Page(self.paths[name], width, is_dark)
                self.assertEqual((page.told["width"], page.told["isDark"]),
                                 (width, is_dark))
                yield page

    def check(self, name):
        grounds = set()
        for page in self.look(name):
            self.assertEqual(page.console, [])
            self.assertEqual(page.told["fetched"], [])
            self.assertLessEqual(page.told["documentWidth"],
                                 page.told["width"], "it scrolls sideways")
            drawn = {canvas["section"] for canvas in page.told["canvases"]}
            self.assertEqual(drawn, PAGES[name][1])
            for canvas in page.told["canvases"]:
                self.assertGreater(canvas["colors"], LEAST_COLORS, canvas)
                self.assertIn("in the table below", canvas["label"])
                self.assertIn(canvas["covered"], (None, 0), canvas)
            grounds.add(page.told["ground"])
        self.assertEqual(len(grounds), 2, "light and dark look the same")

    def test_a_sweep_with_every_part(self):
        self.check("every_part")

    def test_an_older_file(self):
        self.check("older_file")

    def test_a_tune_of_many_settings(self):
        self.check("many_runs")
        page = browser.Page(self.paths["many_runs"], 1600, False)
        self.assertIn("more runs", page.told["text"])
        self.assertIn("On a simulated device: ", page.told["text"])

    def utilization_label(self, path):
        page = browser.Page(path, 1600, False)
        self.assertEqual(page.console, [])
        return [canvas["label"] for canvas in page.told["canvases"]
                if canvas["section"] == "utilization"]

    def test_busy_ratio_is_on_a_switch(self):
        """Utilization is what the first chart begins with."""
        path = self.paths["every_part"]
        self.assertRegex(self.utilization_label(path)[0], "against utilization")
        text = path.read_text(encoding="utf-8")
        switched = path.with_name("switched.html")
        switched.write_text(text.replace(
            "</body>", "<script>document.querySelector("
            "'#utilization .switch button:last-child').click();</script></body>"),
            encoding="utf-8")
        self.assertRegex(self.utilization_label(switched)[0],
                         "against the busy ratio")

    def test_without_a_saturation_the_busy_ratio_is_drawn(self):
        results = json.loads((DATA / "every_part.json").read_text("utf-8"))
        for run in results["runs"]:
            run["saturation_rate"] = 0
            run["points"] = [point for point in run["points"]
                             if point["loop"] == "open"]
        path = self.paths["every_part"].with_name("busy.json")
        path.write_text(json.dumps(results), encoding="utf-8")
        page = path.with_name("busy.html")
        subprocess.run([FERRY_BENCH, "report", path, "--html", page],
                       check=True, capture_output=True)
        self.assertRegex(self.utilization_label(page)[0],
                         "against the busy ratio")

    def test_unsteady_points_are_drawn_and_do_not_stand(self):
        results = json.loads((DATA / "every_part.json").read_text("utf-8"))
        points = [point for run in results["runs"] for point in run["points"]
                  if point["loop"] != "offline" and point["ok"] > 0]
        closed = next(one for one in points if one["loop"] == "closed")
        closed["unsteady"] = "it paused"
        opened = next(one for one in points if one["loop"] == "open" and
                      not one["unsteady"] and not one["void_reason"])
        opened["achieved_rate"] = opened["offered_rate"] / 2  # its queue grew
        path = self.paths["every_part"].with_name("unsteady.json")
        path.write_text(json.dumps(results), encoding="utf-8")
        html = path.with_name("unsteady.html")
        subprocess.run([FERRY_BENCH, "report", path, "--html", html],
                       check=True, capture_output=True)
        html.write_text(html.read_text(encoding="utf-8").replace(
            "</body>", "<script>document.body.append(runs.flatMap((run) => "
            "pointsOf(run)).filter((point) => whyHollow(point).startsWith("
            "'unsteady: ')).map((point) => ' ' + isHollow(point) + "
            "isCarried(point) + whyHollow(point)).join());</script></body>"),
            encoding="utf-8")
        page = browser.Page(html, 1600, False)
        self.assertEqual(page.console, [])
        self.assertIn("truefalseunsteady: it paused", page.told["text"])
        self.assertRegex(page.told["text"],
                         r"truefalseunsteady: \d+/s were sent and \d+/s answered")

    def test_an_error_would_be_seen(self):
        """A console that is never read would look like a quiet page."""
        path = self.paths["older_file"].with_name("wrong.html")
        text = self.paths["older_file"].read_text(encoding="utf-8")
        path.write_text(re.sub("'use strict';", "console.warn('seen');", text,
                               count=1), encoding="utf-8")
        page = browser.Page(path, 1600, False)
        self.assertTrue(any("seen" in line for line in page.console),
                        page.console)


if __name__ == "__main__":
    unittest.main()

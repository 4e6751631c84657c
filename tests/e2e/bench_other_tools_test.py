"""The folders of --aiperf and --inference-perf: against the fields that AIPerf
0.13.0 and inference-perf 0.7.0 publish, and that nothing is mixed with old
files."""

import json
import pathlib
import unittest

import jsonschema

from bench_runner import BenchRunner

LOCAL = ("local", "--warm-up-secs", 0, "--duration-secs", 0.2)

NUMBER = {"type": "number", "minimum": 0}
COUNT = {"type": "integer", "minimum": 0}
TEXT = {"type": "string"}


def closed(properties, required=None):
    """An object of these fields and no other; all are required, or `required`."""
    return {"type": "object", "properties": properties,
            "required": sorted(properties) if required is None else required,
            "additionalProperties": False}


def of_unit(unit, **stats):
    return closed({"unit": {"const": unit}, "avg": NUMBER, **stats})


# JsonExportData, JsonMetricResult, RunInfo and ErrorDetailsCount of AIPerf's
# export_models.py, of what is no token: every name and unit is theirs.
AIPERF = jsonschema.Draft202012Validator(closed({
    "schema_version": {"const": "1.4"},
    "request_throughput": of_unit("requests/sec"),
    "request_latency": of_unit(
        "ms", min=NUMBER, max=NUMBER, count=COUNT, sum=NUMBER,
        **{f"p{p}": NUMBER for p in (1, 5, 10, 25, 50, 75, 90, 95, 99)}),
    "request_count": of_unit("requests"),
    "error_request_count": of_unit("requests"),
    "goodput": of_unit("requests/sec"),
    "good_request_count": of_unit("requests"),
    "benchmark_duration": of_unit("sec"),
    "run_info": closed(
        {"run_label": TEXT, "variation_label": TEXT, "variation_index": COUNT,
         "variation_values": {"type": "object"}, "random_seed": COUNT,
         "cli_command": TEXT},
        ["run_label", "variation_label", "variation_index",
         "variation_values", "cli_command"]),
    "was_cancelled": {"type": "boolean"},
    "error_summary": {"type": "array", "items": closed(
        {"error_details": closed({"type": TEXT, "message": TEXT}),
         "count": COUNT})},
    "start_time": TEXT, "end_time": TEXT}))

# summarize() of inference-perf's reportgen/base.py, with the percentiles that
# it writes unless it is told others.
SUMMARY = closed({name: NUMBER for name in (
    "mean", "min", "max", "p0.1", "p1", "p5", "p10", "p25", "median", "p75",
    "p90", "p95", "p99", "p99.9")})
SUMMARY_OR_NONE = {"anyOf": [SUMMARY, {"type": "null"}]}


def report(load, required):
    """ResponsesSummary of the same file, of what is no token."""
    return jsonschema.Draft202012Validator(closed({
        "benchmark_time_seconds": NUMBER,
        "load_summary": closed(
            {"count": COUNT, "schedule_delay": SUMMARY_OR_NONE, **load},
            ["count", "schedule_delay", *required]),
        "successes": closed({
            "count": COUNT,
            "latency": closed({"request_latency": SUMMARY_OR_NONE}),
            "throughput": closed({"requests_per_sec": NUMBER}),
            "goodput_metrics": closed({
                "goodput_percentage": NUMBER, "request_goodput": NUMBER,
                "good_requests": COUNT, "total_requests": COUNT,
                "request_latency_attainment_percentage": NUMBER})}),
        "failures": closed({
            "count": COUNT, "request_latency": SUMMARY_OR_NONE,
            "by_label": {"type": "object", "additionalProperties": closed(
                {"count": COUNT, "messages": {"type": "array"}})}})}))


STAGE = report({"send_duration": NUMBER, "requested_rate": NUMBER,
                "achieved_rate": NUMBER, "concurrency": COUNT},
               ["send_duration", "achieved_rate"])
ALL_STAGES = report({}, [])


class OtherToolsTest(BenchRunner):

    def read(self, *parts):
        path = pathlib.Path(self.folder, *parts)
        return json.loads(path.read_text(encoding="utf-8"))

    def names(self, folder):
        root = pathlib.Path(self.folder, folder)
        return sorted(str(path.relative_to(root)) for path in root.rglob("*")
                      if path.is_file())

    def measure(self):
        """Returns the points of result.json, a closed loop and an open one with
        a bound; both stand, also where this machine was busy."""
        path = pathlib.Path(self.path("result.json"))
        self.bench(*LOCAL, "--outstanding", 2, "--rates", 100, "--slo-ms", 1000,
                   "--json", path)
        document = self.read("result.json")
        points = document["runs"][0]["points"]
        for point in points:
            point["void_reason"] = ""
        path.write_text(json.dumps(document), encoding="utf-8")
        return points

    def test_each_point_fits_what_the_tools_publish(self):
        points = self.measure()
        told = self.bench(
            "report", self.path("result.json"), "--aiperf", self.path("aiperf"),
            "--inference-perf", self.path("inference-perf"))
        self.assertIn(f"AIPerf's files: {self.path('aiperf')}, 2\n", told)
        self.assertIn(
            f"inference-perf's files: {self.path('inference-perf')}, 3\n", told)
        self.assertEqual([point["loop"] for point in points],
                         ["closed", "open"])
        for index, point in enumerate(points):
            with self.subTest(point=index):
                aiperf = self.read("aiperf", f"run_{index + 1:04}",
                                   "profile_export_aiperf.json")
                AIPERF.validate(aiperf)
                stage = self.read("inference-perf",
                                  f"stage_{index}_lifecycle_metrics.json")
                STAGE.validate(stage)
                # The same numbers, in their units.
                p99_us = point["latency_from_send"]["p99_us"]
                self.assertAlmostEqual(aiperf["request_latency"]["p99"],
                                       p99_us / 1e3)
                self.assertAlmostEqual(
                    stage["successes"]["latency"]["request_latency"]["p99"],
                    p99_us / 1e6)
                self.assertEqual(aiperf["request_throughput"]["avg"],
                                 point["achieved_rate"])
                self.assertEqual(stage["successes"]["count"], point["ok"])
        stage = self.read("inference-perf", "stage_1_lifecycle_metrics.json")
        self.assertEqual(stage["load_summary"]["requested_rate"], 100)
        summary = self.read("inference-perf", "summary_lifecycle_metrics.json")
        ALL_STAGES.validate(summary)
        self.assertEqual(summary["successes"]["count"],
                         sum(point["ok"] for point in points))

    def test_report_writes_the_same_as_the_run(self):
        self.bench(*LOCAL, "--outstanding", "1,2",
                   "--json", self.path("result.json"), "--aiperf",
                   self.path("aiperf"), "--inference-perf",
                   self.path("inference-perf"))
        self.bench("report", self.path("result.json"), "--aiperf",
                   self.path("a"), "--inference-perf", self.path("i"))
        self.assertEqual(self.names("a"), [
            f"run_000{run}/profile_export_aiperf.json" for run in (1, 2)])
        for first, second in (("aiperf", "a"), ("inference-perf", "i")):
            self.assertEqual(self.names(first), self.names(second))
            for name in self.names(first):
                self.assertEqual(self.read(first, name),
                                 self.read(second, name), name)

    def test_folder_with_files_is_refused_before_anything_is_measured(self):
        pathlib.Path(self.path("old")).touch()
        for flag in ("--aiperf", "--inference-perf"):
            with self.subTest(flag=flag):
                told = self.bench(*LOCAL, "--outstanding", 1, flag, self.folder,
                                  code=1)
                self.assertIn(f"{flag}: expected a folder that is new or empty, "
                              f"got '{self.folder}': files are in it", told)
        self.assertEqual(self.names(""), ["old"])

    def test_offline_queries_are_left_out_and_that_is_told(self):
        folder = self.path("a")
        told = self.bench(*LOCAL, "--scenario", "offline:8", "--aiperf", folder)
        self.assertIn(f"{folder}: 1 void points or offline queries are left out",
                      told)
        self.assertFalse(pathlib.Path(folder).exists())

    def test_full_disk_is_told(self):
        folder = self.path("a")
        told = self.bench(*LOCAL, "--outstanding", 1, "--aiperf", folder,
                          file_bytes=100, code=1)
        self.assertIn(f"cannot write {folder}/run_0001/"
                      "profile_export_aiperf.json: File too large", told)

    def test_result_of_an_earlier_version_is_refused(self):
        self.bench(*LOCAL, "--outstanding", 1, "--json", self.path("old.json"))
        document = self.read("old.json")
        point = document["runs"][0]["points"][0]
        del point["histograms"]
        pathlib.Path(self.path("old.json")).write_text(json.dumps(document),
                                                       encoding="utf-8")
        told = self.bench("report", self.path("old.json"), "--aiperf",
                          self.path("a"), code=1)
        self.assertIn(f"expected a histogram of {point['ok']} latencies, found "
                      "one of 0, as in files of earlier versions", told)


class ShapeTest(unittest.TestCase):
    """The shapes above find what they are for."""

    def test_unknown_field_and_wrong_unit_are_found(self):
        metric = jsonschema.Draft202012Validator(of_unit("ms"))
        metric.validate({"unit": "ms", "avg": 1})
        for wrong in ({"unit": "sec", "avg": 1}, {"unit": "ms"},
                      {"unit": "ms", "avg": 1, "mean": 1}):
            self.assertFalse(metric.is_valid(wrong), wrong)


if __name__ == "__main__":
    unittest.main()

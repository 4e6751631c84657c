"""What ferry-bench writes, against its published schemas; several runs of one
command, what `compare` says of them, and real inputs."""

import copy
import functools
import json
import os
import tempfile
import unittest

import jsonschema
import numpy

from bench_runner import BenchRunner
from ferry_process import FerryProcess, MODELS, TYPES, echo_config, sim_config

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))


def schema(name):
    with open(os.path.join(SOURCE, "docs", name), encoding="utf-8") as file:
        return json.load(file)


RESULT = jsonschema.Draft202012Validator(schema("bench-result.schema.json"))
COMPARISON = jsonschema.Draft202012Validator(
    schema("bench-compare.schema.json"))


class BenchCase(BenchRunner):
    """A server of a simulated device, of echoes, and ferry-bench."""

    @classmethod
    def setUpClass(cls):
        repository = tempfile.TemporaryDirectory(prefix="ferry-e2e-")
        cls.addClassCleanup(repository.cleanup)
        models = {"sim": sim_config(16, alpha_ms=2, beta_ms=0.1),
                  "types": MODELS["types"],
                  "text": echo_config([("text", "out", "STRING", [1])])}
        for name, config in models.items():
            os.makedirs(os.path.join(repository.name, name, "1"))
            with open(os.path.join(repository.name, name, "config.pbtxt"), "w",
                      encoding="utf-8") as file:
                file.write(config)
        cls.server = FerryProcess("--model-repository", repository.name,
                                  "--admin-rpc", models=None)
        cls.addClassCleanup(cls.server.stop)

    def write(self, name, document):
        with open(self.path(name), "w", encoding="utf-8") as file:
            json.dump(document, file)
        return self.path(name)

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return json.load(file)

    def run_server(self, *flags, model="sim", code=0, seconds=0.2):
        """Returns the document of `run` at the server, and what it printed."""
        text = self.bench("run", "-u", self.server.address, "-m", model,
                          "--warm-up-secs", 0, "--duration-secs", seconds,
                          "--json", self.path("result.json"), *flags, code=code)
        return (self.read("result.json") if code == 0 else None), text


class SchemaTest(BenchCase):

    def test_what_each_command_writes_fits(self):
        short = ("--warm-up-secs", 0, "--duration-secs", 0.3,
                 "--json", self.path("result.json"))
        at = ("-u", self.server.address, "-m", "sim")
        search = ("--slo-ms", 30, "--precision", 0.5, "--confirmations", 1,
                  "--first-rate", 100)
        for command in (
                ("run", *at, "--rates", "50,100,150,200", "--outstanding", 1),
                ("run", *at, "--rates", 100, "--class", "a:rows=2",
                 "--class", "b:cancel=1"),
                ("run", *at, "--outstanding", 1, "--policies", "window"),
                ("search", *at, *search),
                ("tune", *at, *search, "--policies", "window",
                 "--max-batch-sizes", 8, "--max-waits-ms", 1),
                ("local", "--outstanding", 1)):
            # Whether a search finds a rate is a matter of how busy it is here.
            with self.subTest(command=command[0]):
                self.bench(*command, *short,
                           code=None if "--slo-ms" in command else 0)
                RESULT.validate(self.read("result.json"))
                os.remove(self.path("result.json"))

    def test_runs_tell_what_they_were_configured_as(self):
        first, other, model = (
            self.run_server("--outstanding", outstanding, "--label", label,
                            model=model)[0]["runs"][0]
            for outstanding, label, model in
            ((1, "a", "sim"), (1, "b", "sim"), (2, "a", "text")))
        self.assertRegex(first["versions"]["build"],
                         r"^ferry-bench-[0-9.]+-[0-9a-f]{16}$")
        self.assertIn(first["versions"]["build"], self.bench("--version"))
        for path in (("config_sha256",), ("model", "config_sha256")):
            one, same, changed = (
                functools.reduce(dict.__getitem__, path, run)
                for run in (first, other, model))
            self.assertRegex(one, "^[0-9a-f]{64}$")
            self.assertEqual(one, same)
            self.assertNotEqual(one, changed)

    def test_files_of_older_versions_fit(self):
        with open(os.path.join(SOURCE, "bench", "results", "demo.json"),
                  encoding="utf-8") as file:
            RESULT.validate(json.load(file))

    def test_a_field_that_is_not_described_does_not_fit(self):
        document, _ = self.run_server("--outstanding", 1)
        for place in (document, document["runs"][0],
                      document["runs"][0]["points"][0],
                      document["runs"][0]["points"][0]["latency"]):
            place["new_us"] = 1
            self.assertFalse(RESULT.is_valid(document))
            del place["new_us"]
        RESULT.validate(document)
        del document["runs"][0]["points"][0]["latency"]["p99_us"]
        self.assertFalse(RESULT.is_valid(document))

    def test_each_field_is_described(self):
        def walk(part, place):
            for name, field in part.get("properties", {}).items():
                self.assertIn("description", field, f"{place}/{name}")
                walk(field, f"{place}/{name}")
            for name, field in part.get("$defs", {}).items():
                walk(field, f"{place}/{name}")
            for choice in part.get("oneOf", []):
                walk(choice, place)

        for validator in (RESULT, COMPARISON):
            validator.check_schema(validator.schema)
            walk(validator.schema, validator.schema["$id"])


class CompareTest(BenchCase):

    def test_two_servers_in_turn_are_compared_as_pairs(self):
        document, text = self.run_server(
            "--outstanding", "1,2", "--repeat", 3, "--against",
            self.server.address, "--label", "one", "--against-label", "other")
        self.assertEqual([run["label"] for run in document["runs"]],
                         ["one", "other", "other", "one", "one", "other"])
        self.assertIn("3 pairs", text)
        self.bench("compare", self.path("result.json"), "--json",
                   self.path("compared.json"), "--markdown",
                   self.path("compared.md"), "--fail-if-worse", 1e6)
        compared = self.read("compared.json")
        COMPARISON.validate(compared)
        self.assertEqual(
            [(load["load"], load["method"], load["runs_a"])
             for load in compared["loads"]],
            [("closed, 1 outstanding", "pairs", 3),
             ("closed, 2 outstanding", "pairs", 3)])
        self.assertEqual((compared["a"], compared["b"]), ("one", "other"))
        with open(self.path("compared.md"), encoding="utf-8") as file:
            self.assertIn("| closed, 1 outstanding | 3 pairs | rate |",
                          file.read())

    def test_what_is_worse_ends_with_two(self):
        base, _ = self.run_server("--outstanding", 1, "--repeat", 3)
        slower = copy.deepcopy(base)
        for run in slower["runs"]:
            for name in run["points"][0]["latency"]:
                run["points"][0]["latency"][name] *= 2
        files = (self.write("a.json", base), self.write("b.json", slower))
        text = self.bench("compare", *files)
        self.assertIn("B's p50 is 100.0 % higher", text)
        text = self.bench("compare", *files, "--fail-if-worse", 50, code=2)
        self.assertIn("--fail-if-worse: closed, 1 outstanding: B's mean is "
                      "100.0 % higher", text)
        self.bench("compare", *files, "--fail-if-worse", 150)
        self.bench("compare", *reversed(files), "--fail-if-worse", 1)

    def test_one_run_each_is_compared_by_slices_and_says_so(self):
        base, _ = self.run_server("--outstanding", 4)
        path = self.write("a.json", base)
        base["runs"][0]["machine"]["cpu"] = "another"
        base["runs"][0]["model"]["simulated"] = False
        text = self.bench("compare", path, self.write("b.json", base))
        self.assertIn("one run each, by slices", text)
        self.assertIn("Measure repeats in turn", text)
        self.assertIn("WARNING: A and B differ: client's processor", text)
        self.assertIn("WARNING: A and B differ: simulated: 'yes' in A", text)
        self.assertNotIn("% higher", text)  # it is the same file

    def test_what_is_unsteady_or_of_other_windows_is_said(self):
        base, _ = self.run_server("--outstanding", 1)
        point = base["runs"][0]["points"][0]
        point["unsteady"] = ""
        a = self.write("a.json", base)
        point["unsteady"] = "the rate went down"
        point["window_s"] = 10
        base["runs"][0]["warm_up_s"] = 3
        b = self.write("b.json", base)
        text = self.bench("compare", a, b, "--json", self.path("c.json"),
                          "--markdown", self.path("c.md"))
        said = "closed, 1 outstanding: unsteady in B: the rate went down"
        self.assertEqual(text.count(f"WARNING: {said}"), 1, text)
        self.assertIn("differ: window: '0.2 s' in A, '10 s' in B", text)
        self.assertIn("differ: warm-up: '0 s' in A, '3 s' in B", text)
        COMPARISON.validate(self.read("c.json"))
        self.assertEqual(self.read("c.json")["unsteady"], [said])
        with open(self.path("c.md"), encoding="utf-8") as file:
            self.assertIn(f"**{said}**", file.read())
        self.assertNotIn("unsteady", self.bench("compare", a, a, code=None))

    def test_markdown_without_a_common_load_says_so(self):
        base, _ = self.run_server("--outstanding", 1)
        a = self.write("a.json", base)
        base["runs"][0]["points"][0]["void_reason"] = "the client was late"
        self.bench("compare", a, self.write("b.json", base), "--markdown",
                   self.path("c.md"), code=1)
        with open(self.path("c.md"), encoding="utf-8") as file:
            text = file.read()
        self.assertIn("no load in common whose numbers stand.\n\n- not compared",
                      text)
        self.assertNotIn("|", text)

    def test_searches_are_compared_by_the_rates_that_they_found(self):
        base, _ = self.run_server("--outstanding", 1)
        base["runs"][0]["search"] = {
            "slo_ms": 20, "percentile": 99, "found_rate": 1000,
            "client_ceiling": 0, "precision": 0.02}
        RESULT.validate(base)
        slower = copy.deepcopy(base)
        slower["runs"][0]["search"]["found_rate"] = 800
        files = (self.write("a.json", base), self.write("b.json", slower))
        text = self.bench("compare", *files, "--fail-if-worse", 10, "--json",
                          self.path("compared.json"), code=2)
        self.assertIn("--fail-if-worse: search, p99 <= 20 ms: B's rate is "
                      "20.0 % lower (17.4 to 22.5 %)", text)
        compared = self.read("compared.json")
        COMPARISON.validate(compared)
        self.assertEqual(compared["loads"][-1]["method"], "precision")
        slower["runs"][0]["search"]["slo_ms"] = 50
        text = self.bench("compare", files[0], self.write("b.json", slower),
                          "--fail-if-worse", 50, code=2)
        self.assertIn("not judged: search, p99 <= 20 ms: searched only in A",
                      text)

    def test_what_cannot_be_compared_is_refused(self):
        base, _ = self.run_server("--outstanding", 1)
        a = self.write("a.json", base)
        base["runs"][0]["points"][0]["outstanding"] = 2
        b = self.write("b.json", base)
        text = self.bench("compare", a, b, code=1)
        self.assertIn("closed, 1 outstanding: measured only in A", text)
        self.assertEqual(text.count("whose numbers stand"), 1, text)
        self.bench("compare", a, b, "--fail-if-worse", 10, code=2)
        self.assertIn("expected two labels in one file",
                      self.bench("compare", a, code=1))
        self.assertIn("cannot read", self.bench("compare", a, "/none", code=1))


class RuntimeOptionsTest(BenchCase):

    def test_each_setting_is_a_run_and_the_server_is_turned_back(self):
        document, text = self.run_server(
            "--outstanding", 4, "--policies", "eager,window",
            "--max-batch-sizes", "2,8", "--max-waits-ms", "1,3")
        RESULT.validate(document)
        settings = [(run["runtime_options"]["policy"], run["runtime_options"]["max_batch_size"],
                     run["runtime_options"]["max_wait_ms"]) for run in document["runs"]]
        self.assertEqual(
            sorted(settings)[2:],
            [("window", 2, 1), ("window", 2, 3), ("window", 8, 1),
             ("window", 8, 3)])
        self.assertEqual([one[:2] for one in sorted(settings)[:2]],
                         [("eager", 2), ("eager", 8)])
        self.assertIn("as it is: eager, 16 rows", text)
        self.assertIn("the server is as it was: eager, 16 rows", text)
        for run in document["runs"]:
            rows = run["points"][0]["mean_rows"]
            self.assertLessEqual(rows, run["runtime_options"]["max_batch_size"])
        _, text = self.run_server("--outstanding", 1, "--policies", "eager")
        self.assertIn("as it is: eager, 16 rows, 5 ms", text)

    def test_settings_that_the_server_refuses_end_the_run(self):
        text = self.run_server("--outstanding", 1, "--max-batch-sizes", 1000,
                               code=1)[1]
        self.assertIn("runtime options: ", text)
        self.assertIn("the server is as it was", text)
        self.assertIn("excludes", self.run_server(
            "--policies", "eager", "--against", "x:1", code=1)[1])


class DataTest(BenchCase):

    def test_json_of_perf_analyzer(self):
        path = self.write("data.json", {"data": [
            {"input": [i] * 16} for i in range(5)]})
        document, _ = self.run_server("--outstanding", 1, "--data", path)
        self.assertEqual(document["runs"][0]["data"], path)
        self.assertGreater(document["runs"][0]["points"][0]["ok"], 0)
        document, _ = self.run_server(
            "--outstanding", 1, "--data", path, "--data-order", "random",
            "--rows", 3, "--class", "a:", "--class", f"b:data={path},rows=2")
        self.assertEqual(document["runs"][0]["rows_per_request"], 2.5)

    def test_a_folder_of_texts(self):
        folder = self.path("texts")
        os.mkdir(folder)
        with open(os.path.join(folder, "text"), "w", encoding="utf-8") as file:
            file.write("one\ntwo words\n")
        document, _ = self.run_server("--outstanding", 1, "--data", folder,
                                      model="text")
        point = document["runs"][0]["points"][0]
        self.assertGreater(point["ok"], 0)
        self.assertEqual(point["errors"], {})

    def test_a_folder_of_arrays_of_every_type(self):
        folder = self.path("arrays")
        os.mkdir(folder)
        for name in TYPES:
            kind = {"FP16": "<f2", "FP32": "<f4", "FP64": "<f8", "BF16": "<f4",
                    "BOOL": "?"}.get(name, name.lower().replace("uint", "u")
                                     .replace("int", "i"))
            if kind[0] in "ui":
                kind = f"{kind[0]}{int(kind[1:]) // 8}"
            numpy.save(os.path.join(folder, f"in_{name}.npy"),
                       numpy.ones((4, 3), kind))
        document, _ = self.run_server("--outstanding", 1, "--rows", 2,
                                      "--data", folder, model="types")
        point = document["runs"][0]["points"][0]
        self.assertGreater(point["ok"], 0)
        self.assertEqual(point["errors"], {})

    def test_what_does_not_fit_the_model_is_said(self):
        path = self.write("data.json", {"data": [{"input": [1] * 15}]})
        text = self.run_server("--data", path, code=1)[1]
        self.assertIn("entry 1 of \"data\": input 'input': expected 16 "
                      "elements of FP32 [16], or a multiple, found 15", text)
        self.assertIn("cannot read /none.json",
                      self.run_server("--data", "/none.json", code=1)[1])


if __name__ == "__main__":
    unittest.main()

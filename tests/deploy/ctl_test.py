"""ferryctl at the command line: exit codes, JSON by its schema, and what it says
of price files that are wrong."""

import json
import pathlib
import subprocess
import unittest

from ctl_case import CTL, ROOT, SCHEMA, CtlCase

GOOD = {
    "currency": "USD", "as_of": "2026-01-01", "source": "made up",
    "rows": [
        {"device": "L4", "region": "a", "kind": "on_demand", "per_hour": 0.80},
        {"device": "L4", "region": "a", "kind": "spot", "per_hour": 0.25},
        {"device": "L4", "region": "a", "kind": "reserved", "per_hour": 0.50,
         "term_hours": 8760}]}
PRICED = ("--prices", "prices.json", "--device", "L4")
QUESTIONS = (
    ("reserved", *PRICED), ("breakeven", *PRICED),
    ("spot", *PRICED, "--interruptible"),
    ("schedule", *PRICED, "--on-hours-per-week", "60"),
    ("offline", "--items-per-day", "1e6", "--windows-per-day", "6",
     "--window-hours", "4", "--rate", "5"),
    ("per-million", *PRICED, "--average-rate", "30", "--lambda-max", "90"),
    ("rank", "--prices", "prices.json", "--rate", "L4=90"))


MODELS = {"models": [
    {"name": "day", "lambda_max": 100, "peak_rates": [0] * 12 + [60] * 12},
    {"name": "night", "lambda_max": 100, "peak_rates": [60] * 12 + [0] * 12}]}


class CtlTest(CtlCase):

    def setUp(self):
        super().setUp()
        self.write(GOOD)

    def write(self, prices):
        (self.folder / "prices.json").write_text(json.dumps(prices))

    def test_each_question_is_answered_in_text_and_json(self):
        for question in QUESTIONS:
            with self.subTest(question=question[0]):
                text = self.ask("cost", *question)
                self.assertEqual(text.returncode, 0, text)
                self.assertIn("formulas:", text.stdout)
                ended = self.ask("cost", *question, "--json")
                self.assertEqual(ended.returncode, 0, ended)
                answer = json.loads(ended.stdout)
                SCHEMA.validate(answer)
                self.assertEqual(answer["command"], f"cost {question[0]}")
                self.assertTrue(text.stdout.startswith(answer["answer"]))

    def test_capacity_by_a_rate_a_result_and_several_models(self):
        (self.folder / "models.json").write_text(json.dumps(MODELS))
        result = str(ROOT / "bench/results/demo.json")
        for flags, text in (
                (("--device-rate", "200", "--peak-rate", "500", "--spares", "0",
                  "--headroom", "0.8333333333333334"), "takes 3 devices of 200"),
                (("--result", result, "--label", "mlp, batching on",
                  "--slo-p99-ms", "100", "--peak-rate", "10000"),
                 "takes 4 devices of 6954.3"),
                (("--models", "models.json", "--spares", "0"),
                 "take 1 device, 1 for the busiest hour, 0 o'clock; with devices "
                 "of their own, 2 devices")):
            with self.subTest(flags=flags[0]):
                ended = self.ask("capacity", *flags, "--json")
                self.assertEqual(ended.returncode, 0, ended)
                answer = json.loads(ended.stdout)
                SCHEMA.validate(answer)
                self.assertIn(text, answer["answer"])
        self.assert_refused(1, "expected one of --result", "capacity")
        self.assert_refused(1, "--peak-rate: expected", "capacity",
                            "--device-rate", "5")
        self.assert_refused(2, "p99", "capacity", "--result", result, "--label",
                            "mlp, batching on", "--slo-p99-ms", "0.001",
                            "--peak-rate", "1")

    def test_memory_of_parameters_and_of_a_file_of_weights(self):
        header = json.dumps({"w": {"dtype": "F32", "shape": [2, 3],
                                   "data_offsets": [0, 24]}}).encode()
        (self.folder / "w.safetensors").write_bytes(
            len(header).to_bytes(8, "little") + header + bytes(24))
        devices = str(ROOT / "examples/devices.json")
        for flags, number in ((("--parameters", "7e9"), 14e9),
                              (("--parameters", "7e9", "--type", "fp32"), 28e9),
                              (("--weights", "w.safetensors"), 24)):
            with self.subTest(flags=flags):
                ended = self.ask("memory", *flags, "--devices", devices, "--json")
                self.assertEqual(ended.returncode, 0, ended)
                answer = json.loads(ended.stdout)
                SCHEMA.validate(answer)
                numbers = {one["name"]: one["value"] for one in answer["numbers"]}
                self.assertEqual(numbers["weight_bytes"], number)
                self.assertIn("H100-80GB", answer["answer"])
        self.assert_refused(1, "expected one of --parameters", "memory")
        (self.folder / "w.safetensors").write_bytes(b"no")
        self.assert_refused(1, "w.safetensors", "memory", "--weights",
                            "w.safetensors")

    def test_mig_plan_compares_and_prints_what_divides_devices(self):
        models = str(ROOT / "examples/mig_models.json")
        plan = ("mig-plan", "--device", "H200-141GB", "--models", models)
        ended = self.ask(*plan, "--json")
        self.assertEqual(ended.returncode, 0, ended)
        answer = json.loads(ended.stdout)
        SCHEMA.validate(answer)
        self.assertIn("The cheapest is one process, 1 device", answer["answer"])
        self.assertEqual([row["devices"] for row in answer["rows"]], ["1"] * 3)
        self.assertNotIn("artifact", answer)
        self.assertIn("a slice cannot borrow", self.ask(*plan).stdout)
        for artifact, text in (("mig-parted", '"1g.18gb": 2'),
                               ("nvidia-smi", "-cgi 1g.35gb,1g.18gb,1g.18gb -C"),
                               ("env", "FERRY_DEVICE=MIG-"),
                               ("dra", "deviceClassName: mig.nvidia.com")):
            with self.subTest(artifact=artifact):
                printed = self.ask(*plan, "--print", artifact)
                self.assertEqual(printed.returncode, 0, printed)
                self.assertIn(text, printed.stdout)
                self.assertNotIn("The cheapest", printed.stdout)
                ended = self.ask(*plan, "--print", artifact, "--json")
                answer = json.loads(ended.stdout)
                SCHEMA.validate(answer)
                self.assertEqual(answer["artifact"], printed.stdout)

    def test_mig_plan_with_prices(self):
        row = {"device": "H200", "region": "a", "kind": "on_demand", "per_hour": 3}
        self.write(GOOD | {"rows": [row]})
        plan = ("mig-plan", "--device", "H200", "--models",
                str(ROOT / "examples/mig_models.json"), "--prices", "prices.json")
        answer = json.loads(self.ask(*plan, "--json").stdout)
        SCHEMA.validate(answer)
        self.assertEqual([row["USD/h"] for row in answer["rows"]], ["3"] * 3)
        self.assert_refused(2, "no price of 'H200', spot", *plan, "--kind", "spot")

    def test_mig_plan_refuses_what_cannot_be(self):
        models = str(ROOT / "examples/mig_models.json")
        plan = ("mig-plan", "--device", "H200", "--models", models)
        self.assert_refused(1, "layout: expected at most 8 memory slices, got 9",
                            *plan, "--layout", "3g.71gb,3g.71gb,1g.18gb")
        self.assert_refused(1, "at most 1 of 4g.71gb on one H200-141GB, got 2",
                            *plan, "--layout", "4g.71gb,4g.71gb")
        self.assert_refused(1, "got '1g.10gb'", *plan, "--layout", "1g.10gb")
        self.assert_refused(1, "device: expected rates measured on H100-80GB",
                            "mig-plan", "--device", "H100", "--models", models)
        self.assert_refused(1, "device: expected one of A100-40GB", "mig-plan",
                            "--device", "A100", "--models", models)
        self.assert_refused(1, "print", *plan, "--print", "helm")
        self.assert_refused(2, "cannot read", "mig-plan", "--device", "H200",
                            "--models", "none.json")
        wrong = json.loads(pathlib.Path(models).read_text())
        wrong["models"][2]["rate"] = {"1g.18gb": 10}
        (self.folder / "m.json").write_text(json.dumps(wrong))
        self.assert_refused(2, "model 'reranker': expected a rate measured on",
                            "mig-plan", "--device", "H200", "--models", "m.json",
                            "--print", "dra")

    def test_profile_judges_a_recording_or_says_that_it_cannot(self):
        def record(**columns):
            (self.folder / "r.json").write_text(json.dumps(
                {"format": "ferry-recording/1", "period_seconds": 1, **columns}))

        profile = ("profile", "--file", "r.json")
        record(load=[0.2] * 60, busy=[0.9] * 60)
        ended = self.ask(*profile, "--json")
        self.assertEqual(ended.returncode, 0, ended)
        answer = json.loads(ended.stdout)
        SCHEMA.validate(answer)
        self.assertIn("'consolidate': load was 20.0 %", answer["answer"])
        self.assertEqual(self.ask(*profile, "--fail-on", "warning").returncode, 3)
        self.assertIn("'overprovisioned'",
                      self.ask(*profile, "--policy", "s0-profile").stdout)
        self.assert_refused(1, "s0-profile", *profile, "--policy", "s9")
        self.assert_refused(2, "168 hours", *profile, "--policy", "s2-week")
        self.assert_refused(2, "sm is unknown", *profile, "--policy", "s1-sm")
        record(load=[0.2] * 59 + [None])
        self.assert_refused(2, "got 1 of 60", *profile)
        record(load=[0.2] * 29)
        self.assert_refused(2, "expected 30 samples or more, got 29", *profile)
        record(load=[-1])
        self.assert_refused(1, "r.json: load: expected", *profile)

    def recording(self, **columns):
        """Writes r.json: a minute of a device that is padded, with a request now and
        then."""
        columns = {"load": [0.2] * 60, "busy": [0.9] * 60, "batch_fill": [0.8] * 60,
                   "padding": [0.4] * 60, "requests_per_second": [30, 50] * 30,
                   **columns}
        (self.folder / "r.json").write_text(json.dumps(
            {"format": "ferry-recording/1", "period_seconds": 60, **columns}))

    def test_diagnose_finds_what_a_recording_shows(self):
        self.recording()
        diagnose = ("diagnose", "--file", "r.json")
        answer = self.answer(*diagnose)
        self.assertEqual(answer["answer"], "Found: padding.")
        self.assertEqual(answer["rows"], [
            {"cause": "padding", "confidence": "high",
             "evidence": "padding 40.0 % (>= 25 %), busy 90.0 % (>= 50 %)"}])
        self.assertEqual(self.ask(*diagnose, "--fail-on", "warning").returncode, 3)
        self.recording(padding=[0.1] * 60)
        self.assertIn("some of it is not known", self.ask(*diagnose).stdout)
        (self.folder / "r.json").write_text(json.dumps(
            {"format": "ferry-recording/1", "period_seconds": 1,
             "memory": [0.5] * 60}))
        self.assert_refused(2, "no cause is known", *diagnose)
        self.assert_refused(1, "expected one of --file, --duration and "
                            "--from-prometheus, got 0", "diagnose")

    def test_roofline_by_a_file_of_devices(self):
        roofline = ("diagnose", "--roofline", "--devices",
                    str(ROOT / "examples/devices.json"), "--flops-per-row", "14e9",
                    "--weight-bytes", "14e9", "--device")
        self.assertIn("A batch of 1 on A100-80GB is bound by memory: memory takes "
                      "6.866 ms, arithmetic 0.045 ms at least.",
                      self.answer(*roofline, "A100-80GB")["answer"])
        self.assertIn("bound by arithmetic",
                      self.answer(*roofline, "A100-80GB", "--rows", "160")["answer"])
        self.assert_refused(2, "expected one of T4, ", *roofline, "none")
        self.assert_refused(2, "expected tflops", *roofline, "A10G")

    def test_result_of_another_device_is_told(self):
        self.recording()
        text = (ROOT / "bench/results/demo.json").read_text()
        result = json.loads(text)
        for run in result["runs"]:
            run["device"] = {"name": "NVIDIA H200", "source": "NVML"}
        flags = ("--result", "result.json", "--slo-p99-ms", "100", "--peak-rate",
                 "10000")
        label = "mlp, batching on"

        def write():
            (self.folder / "result.json").write_text(json.dumps(result))

        write()
        advise = ("advise", "--file", "r.json", *flags, "--result-label", label,
                  *PRICED)
        told = {one["name"]: one for one in self.answer(*advise)["findings"]}
        self.assertEqual(told["another_device"]["severity"], "note")
        self.assertIn("measured on 'NVIDIA H200', and the price is of 'L4'",
                      told["another_device"]["text"])
        capacity = ("capacity", *flags, "--label", label)
        self.assertIn("on NVIDIA H200", json.dumps(self.answer(*capacity)["inputs"]))
        again = json.loads(text)["runs"]
        for run in again:
            run["device"] = {"name": "NVIDIA L4", "source": "NVML"}
        result["runs"] += again
        write()
        self.assert_refused(1, "expected runs on one device, got NVIDIA H200 and "
                            "NVIDIA L4", *capacity)

    def test_advise_puts_all_that_is_known_on_one_page(self):
        self.recording()
        result = str(ROOT / "bench/results/demo.json")
        advise = ("advise", "--file", "r.json")
        answer = self.answer(*advise)
        self.assertTrue(answer["answer"].startswith("Change first: padding: "),
                        answer["answer"])
        steps = {row["step"]: row["answer"] for row in answer["rows"]}
        self.assertEqual(list(steps), ["measure", "reason", "size", "share",
                                       "commit"])
        self.assertIn("'consolidate': load was 20.0 %", steps["measure"])
        self.assertIn("not known: expected --result", steps["size"])
        whole = (*advise, "--result", result, "--result-label",
                 "mlp, batching on",
                 "--slo-p99-ms", "100", "--devices-now", "10", "--peak-rate", "10000",
                 *PRICED, "--html", "advice.html", "--record", "note.md")
        steps = {row["step"]: row["answer"] for row in self.answer(*whole)["rows"]}
        self.assertIn("takes 4 devices", steps["size"])
        # 6 devices at 0.80 for 720 hours; 2,500 requests/s each.
        self.assertEqual(steps["change"],
                         "4 devices in place of 10, saves 3,456.00 USD a month of 30 "
                         "days; p99 15.83 ms, as measured at that rate or the next "
                         "one above.")
        page = (self.folder / "advice.html").read_text()
        self.assertIn("Change first: padding", page)
        self.assertNotIn("http", page)
        note = (self.folder / "note.md").read_text()
        self.assertTrue(note.startswith("# Change first: padding"), note)
        self.assertIn("| change | 4 devices in place of 10", note)
        self.assert_refused(2, "missing.json", *advise, "--prices", "missing.json",
                            "--device", "L4")
        self.assert_refused(1, "--html: ", *advise, "--html", "no/such/advice.html")
        (self.folder / "token").write_text("sesame\n")
        self.assert_refused(
            1, "--token-file: expected one server that takes the token, got "
            "127.0.0.1:1 and http://127.0.0.1:2", "advise", "--duration", "60s",
            "--from", "127.0.0.1:1", "--token-file", "token", "--prices",
            "http://127.0.0.1:2", "--device", "L4")

    def test_findings_end_it_with_3_where_that_is_asked_for(self):
        little = ("cost", "reserved", *PRICED, "--used-share")
        self.assertEqual(self.ask(*little, "0.9").returncode, 0)
        self.assertEqual(self.ask(*little, "0.5").returncode, 3)
        ended = self.ask(*little, "0.5", "--json")
        self.assertIn("used_below_break_even", ended.stdout)
        # Prices of January are old.
        self.assertEqual(
            self.ask(*little, "0.9", "--fail-on", "warning").returncode, 3)

    def test_wrong_price_files(self):
        def but(**changes):
            return {key: value for key, value in (GOOD | changes).items()
                    if value is not None}

        row = GOOD["rows"][0]
        for prices, text in (
                (but(as_of=None), "as_of: expected the day of the prices"),
                (but(source=None), "source: expected"),
                (but(as_of="soon"), "as_of: expected the day"),
                (but(colour="red"), "for 'colour'"),
                (but(rows=[row | {"per_hour": -1}]), "per_hour: expected"),
                (but(rows=[row | {"per_hours": 1}]), "for 'per_hours'"),
                (but(rows=[row | {"kind": "free"}]), "kind: expected"),
                (but(rows=[row, row]), "expected one row for each device")):
            with self.subTest(text=text):
                self.write(prices)
                self.assert_refused(1, text, "cost", "rank", "--prices",
                                    "prices.json", "--rate", "L4=90")
        (self.folder / "prices.json").write_text("{")
        self.assert_refused(1, "prices.json: expected JSON", "cost", "rank",
                            "--prices", "prices.json", "--rate", "L4=90")

    def test_what_is_not_there_is_not_known(self):
        self.assert_refused(2, "cannot read", "cost", "rank", "--prices",
                            "none.json", "--rate", "L4=90")
        self.assert_refused(2, "no price of 'H100'", "cost", "breakeven",
                            "--prices", "prices.json", "--device", "H100")

    def test_wrong_flags(self):
        self.assert_refused(1, "--no-such-flag", "cost", "rank",
                            "--no-such-flag")
        self.assert_refused(1, "--interruptible", "cost", "spot", *PRICED)
        self.assert_refused(1, "expected DEVICE=", "cost", "rank", "--prices",
                            "prices.json", "--rate", "90")
        self.assert_refused(1, "fail-on", "cost", "breakeven", *PRICED,
                            "--fail-on", "never")
        self.assert_refused(1, "used-share", "cost", "reserved", *PRICED,
                            "--used-share", "nan")
        self.assertEqual(self.ask().returncode, 1)
        self.assertEqual(self.ask("cost").returncode, 1)

    def test_full_disk_is_told(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            ended = subprocess.run(
                [CTL, "cost", "breakeven", *PRICED], cwd=self.folder,
                stdout=full, stderr=subprocess.PIPE, text=True, timeout=60,
                check=False)
        self.assertEqual(ended.returncode, 1)
        self.assertIn("cannot write to standard output", ended.stderr)


if __name__ == "__main__":
    unittest.main()

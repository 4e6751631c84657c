"""What scripts/gpu_check.sh measures, on programs that are played: which flags
they get, what is made of what they say, and what it is where one fails. On the
real programs, on the CPU: bundle_test.py."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from tools import ROOT

SCRIPTS = ROOT / "scripts" / "gpu_check"
sys.path.insert(0, str(SCRIPTS))
# pylint: disable=wrong-import-position
import measures
import networks
import tables
sys.path.insert(0, str(ROOT / "models" / "export"))
from ferry_export import command as export_command

# Says 1000 rows/s, times the batch's rows, on a device that was idle for 0.1 ms
# after each copy in of 0.4 ms; half of it without graphs.
FORWARD = """
import json, os, sys
words = sys.argv[1:]
if "--help" in words:
    sys.exit(print("--device"))
after = lambda name: words[words.index(name) + 1]
rate = 500 if "--no-graphs" in words else 1000
with open(sys.argv[0] + ".log", "a") as log:
    print(json.dumps([words, os.environ.get("CUDA_VISIBLE_DEVICES")]), file=log)
if "--model" in words and after("--model") == "encoder":
    sys.exit("the device has no memory")
batches = [{"rows": rows, "stage_ms": 0.4, "compute_ms": 1.0 * rows,
            "total_ms": 1.0, "idle_ms": 0.1, "busy_ratio": 0.9,
            "rows_per_second": float(rate * rows), "times_ms": [1.0]}
           for rows in map(int, after("--batch").split(","))]
json.dump({"batches": batches}, open(after("--json"), "w"))
"""
SERVER = """
import http.server, signal, socketserver, sys
flags = dict(word.split("=", 1) for word in sys.argv[1:])
class Ready(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
    def log_message(self, *_):
        pass
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
print("serves", sys.argv[1:], flush=True)
address = ("127.0.0.1", int(flags["--metrics-port"]))
socketserver.TCPServer(address, Ready).serve_forever()
"""
# Finds 300/s, then 100/s, then nothing, then a rate at which nothing came.
BENCH = """
import json, os, sys
words = sys.argv[1:]
after = lambda name: words[words.index(name) + 1]
turn = sys.argv[0] + ".turn"
number = os.path.getsize(turn) if os.path.exists(turn) else 0
open(turn, "a").write(".")
with open(sys.argv[0] + ".log", "a") as log:
    print(json.dumps(words), file=log)
found = [300.0, 100.0, None, 0.5][number] if words[0] == "search" else 0
point = {"achieved_rate": found or 20.0, "latency": {"p50_us": 2000, "p99_us": 14000},
         "errors": {}, "mean_rows": 7.5, "busy_ratio": 0.97,
         "void_reason": "nothing was measured" if found == 0.5 else "",
         "device": {"sm_ratio": 0.85}}
run = {"points": [point]}
if words[0] == "search":
    run["search"] = {"found_rate": found, "client_ceiling": 0}
json.dump({"runs": [run]}, open(after("--json"), "w"))
sys.exit(1 if found is None else 0)
"""
# Finds 7400/s.
INPROCESS = """
import json, os, sys
words = sys.argv[1:]
after = lambda name: words[words.index(name) + 1]
with open(sys.argv[0] + ".log", "a") as log:
    print(json.dumps([words, os.environ.get("CUDA_VISIBLE_DEVICES")]), file=log)
point = {"achieved_rate": 7400, "latency": {"p50_us": 3000, "p99_us": 12000},
         "errors": {}, "mean_rows": 3.5, "busy_ratio": 0.99, "void_reason": ""}
run = {"points": [point], "search": {"found_rate": 7400.0, "client_ceiling": 0}}
json.dump({"runs": [run]}, open(after("--json"), "w"))
"""

# Two ways, of one batch.
COPY_IN = """
import json, os, sys
flags = dict(word.split("=", 1) for word in sys.argv[1:])
ways = [{"name": f"copy_in_8_images/{way}/real_time", "time_unit": "ns",
         "real_time": time, "host_us": 20.5, "bytes_per_second": 5e10}
        for way, time in (("gathered", 300e3), ("in_one_call", 200e3))]
if os.environ.get("CUDA_VISIBLE_DEVICES") == "GPU-b":
    ways[1] = {"name": "copy_in_8_images/in_one_call", "error_occurred": True,
               "error_message": "no CUDA device"}
json.dump({"benchmarks": ways}, open(flags["--benchmark_out"], "w"))
"""

# Makes a package of nothing.
EXPORTER = """
import json, os, pathlib, sys
words = sys.argv[1:]
after = lambda name: words[words.index(name) + 1]
home = pathlib.Path(__file__).parents[2]
(home / "export.log").write_text(
    json.dumps([words, os.environ.get("CUDA_VISIBLE_DEVICES")]))
(pathlib.Path(after("--repository")) / after("--name")).mkdir()
print("model.pt2, 1 MB")
"""


class NumbersTest(unittest.TestCase):

    def test_a_row_costs_what_is_published(self):
        """He et al. say 3.8 GMAC, with the stride in the first convolution of a
        block; in the second, as torchvision's table has it, it is 4.09."""
        self.assertEqual(networks.resnet50_macs(), 4_089_184_256)
        self.assertEqual(networks.mlp_macs(), 25_165_824)
        # By hand: 6 layers of 128 tokens, of 589824 + 1179648 + 98304.
        self.assertEqual(networks.parse("encoder").flop, 2 * 768 * 1_867_776)

    def test_a_network_is_named_with_its_limit(self):
        self.assertEqual(networks.parse("mlp:2.5").limit_ms, 2.5)
        self.assertEqual(networks.parse("resnet50").limit_ms, 15)
        for wrong in ("vgg", "mlp:x", "mlp:0", "mlp:nan"):
            with self.assertRaises(ValueError, msg=wrong):
                networks.parse(wrong)

    def test_a_package_is_measured_at_sizes_that_it_takes(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            with self.assertRaisesRegex(measures.Wrong, "config.pbtxt"):
                measures.sizes_of(folder, [1])
            for text, sizes in (
                    ("max_batch_size: 8 # 16", [1, 8]), ("", [1]),
                    ("max_batch_size: 0", [1]),
                    ('max_batch_size: 6 parameters { key: "ferry.buckets" '
                     'value { string_value: "2, 6" } }', [2, 6])):
                (folder / "config.pbtxt").write_text(text)
                self.assertEqual(measures.sizes_of(folder, [1, 8, 64]), sizes)

    def test_what_is_not_known_is_a_dash(self):
        self.assertEqual(tables.text_of(None), "-")
        self.assertEqual(tables.text_of(2), "2")
        self.assertEqual(tables.text_of(0.25, 3), "0.250")


class MeasuresTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="ferry-gpu-measures-")
        self.addCleanup(folder.cleanup)
        self.home = pathlib.Path(folder.name)
        (self.home / "bin").mkdir()
        (self.home / "torch" / "lib").mkdir(parents=True)
        (self.home / "torch" / "lib" / "libtorch_cpu.so").write_text("")

    def play(self, name, text):
        path = self.home / "bin" / name
        path.write_text(f"#!{sys.executable}\n{text}")
        path.chmod(0o755)

    def play_all(self):
        self.play("ferry-forward", FORWARD)
        self.play("ferry-server", SERVER)
        self.play("ferry-bench", BENCH)
        self.play("copy-in-benchmark", COPY_IN)
        self.play("ferry-inprocess", INPROCESS)

    def play_exporter(self, text):
        """Puts an exporter into the bundle, and what it imports."""
        package = self.home / "export" / "ferry_export"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("")
        (package / "__main__.py").write_text(text)
        (self.home / "torch" / "utils").mkdir()
        for name in ("numpy", "torchvision", "triton", "torch/__init__",
                     "torch/utils/__init__"):
            (self.home / f"{name}.py").write_text("")
        toolkit = self.home / "toolkit" / "include"
        toolkit.mkdir(parents=True)
        (toolkit / "cuda.h").write_text("")
        (self.home / "torch" / "utils" / "cpp_extension.py").write_text(
            f"CUDA_HOME = {str(toolkit.parent)!r}")
        examples = self.home / "export" / "examples"
        examples.mkdir()
        for name in ("resnet50", "minilm"):
            (examples / f"{name}.py").write_text("")

    def run_script(self, *flags):
        return subprocess.run(
            ["bash", ROOT / "scripts" / "gpu_check.sh", "--bundle", self.home,
             "--out", self.home / "out", "--torch", self.home / "torch",
             "--only-measure", *flags], text=True, timeout=120,
            capture_output=True, check=False,
            env={key: value for key, value in os.environ.items()
                 if key != "CUDA_VISIBLE_DEVICES"} | {"CXX": sys.executable})

    def report(self):
        folder = self.home / "out"
        made = json.loads((folder / "ferry-gpu-check.json").read_text())
        return (made["measures"],
                {step["name"]: step for step in made["steps"]},
                (folder / "ferry-gpu-check.txt").read_text())

    def lines(self, name):
        text = (self.home / "bin" / f"{name}.log").read_text()
        return [json.loads(line) for line in text.splitlines()]

    def test_what_is_made_of_what_the_programs_say(self):
        self.play_all()
        ended = self.run_script("--device", "cuda:1", "--batch", "1,4,8",
                                "--network", "resnet50", "--seconds", "0.2")
        found, steps, text = self.report()
        measured = {name: step for name, step in steps.items()
                    if name.startswith("measure ")}
        for name, step in measured.items():
            self.assertIn(step["outcome"], ("passed", "skipped"), step)
            self.assertEqual(step["outcome"] == "skipped",
                             name == "measure matmul peak" or
                             name.startswith("measure package "), step)
        of = found["networks"]["resnet50"]
        self.assertEqual(of["flop_per_row"], 8_178_368_512)
        graphs = of["offline"]["graphs"]
        self.assertEqual([one["rows"] for one in graphs], [1, 4, 8])
        self.assertAlmostEqual(graphs[2]["tflops"], 8000 * 8.178368512e-3)
        # 8 rows in 8 ms of compute.
        self.assertAlmostEqual(graphs[2]["tflops_computing"], 8.178368512)
        self.assertAlmostEqual(graphs[2]["copy_in_hidden"], 0.75)
        self.assertNotIn("times_ms", graphs[2])
        self.assertEqual(of["offline"]["eager"][0]["rows_per_second"], 500)
        self.assertEqual(of["offline_best"]["rows_per_second"], 8000)
        inside = of["in_process"]
        self.assertEqual(inside["share_of_offline"], 7400 / 8000)
        self.assertEqual(inside["limit_ms"], 15)
        self.assertEqual(inside["max_batch_size"], 4)
        self.assertEqual(inside["at_found"]["mean_rows"], 3.5)
        served = of["served"]
        # 15 ms hold three computes of 4 rows, which take 4 ms each.
        self.assertEqual(served["max_batch_size"], 4)
        self.assertEqual(served["found_rate"], 300)
        self.assertEqual(served["share_of_offline"], 300 / 8000)
        self.assertEqual(served["at_found"]["p99_ms"], 14)
        self.assertEqual(served["at_found"]["device"], {"sm_ratio": 0.85})
        self.assertEqual(of["served_without_batching"]["max_batch_size"], 1)
        self.assertEqual(of["batching_gain"], 3)
        one = found["one_outstanding"]["mlp"]["eager"]
        self.assertEqual(one["forward"]["compute_ms"], 1)
        self.assertEqual(one["served"]["p50_ms"], 2)
        self.assertIn("resnet50: 3.00 times the rate with batching", text)
        self.assertIn("| on | 4 | 300.0 | 14.00 | 0.037 | 7.50 | 0.970 | 0.850 "
                      "| - | - |", text)
        self.assertEqual(found["copy_in"][1], {
            "batch": "copy_in_8_images", "way": "in_one_call", "total_us": 200,
            "host_us": 20.5, "gbytes_per_second": 50})
        self.assertIn("| copy_in_8_images | gathered | 300.0 | 20.5 | 50.00 |",
                      text)
        self.assertIn("| in process | 4 | 7400.0 | 12.00 | 0.925 | 3.50 | 0.990 "
                      "| - | - | - |", text)
        self.assertIn(
            "resnet50: idle between batches of 8: 100.0 us; asked: at most 20: "
            "does not hold\n"
            "resnet50: 65.4 TFLOP/s with graphs, 0.083 of the 790 that an H200 "
            "reaches\n"
            "resnet50: share of offline, in process: 0.925; asked: at least "
            "0.9: holds\n"
            "resnet50: share of offline, over loopback: 0.037\n", text)
        self.assertNotIn("not finished", text)
        # There is no ferry-nvml, and no device for torch.
        self.assertEqual(ended.returncode, 77, ended.stdout + ended.stderr)

    def test_programs_get_the_device_and_the_limit(self):
        self.play_all()
        self.run_script("--device", "cuda:1", "--batch", "2", "--network",
                        "resnet50:40", "--seconds", "0.2")
        for words, visible in self.lines("ferry-forward"):
            self.assertEqual(words[words.index("--device") + 1], "cuda")
            self.assertEqual(visible, "1")
        self.assertEqual(["--ahead" in words and "--no-graphs" in words
                          for words, _ in self.lines("ferry-forward")],
                         [False, False, False, True])
        searches = [words for words in self.lines("ferry-bench")
                    if words[0] == "search"]
        self.assertEqual([words[words.index("--slo-ms") + 1]
                          for words in searches], ["40.0", "40.0"])
        ((words, visible),) = self.lines("ferry-inprocess")
        self.assertIn("--search", words)
        self.assertIn("--device=cuda:1", words)
        self.assertIsNone(visible)  # as a server's, it is the program's own
        for name, value in (("-m", "resnet50"), ("--slo-ms", "40.0"),
                            ("--max-batch-size", "2"),
                            ("--duration-secs", "2.0")):
            self.assertEqual(words[words.index(name) + 1], value)
        _, steps, _ = self.report()
        for name, flag in (("resnet50", "--max-batch-size=2"),
                           ("resnet50 without batching", "--max-batch-size=1"),
                           ("one outstanding, mlp, eager", "--device=cuda:1")):
            self.assertIn(flag, steps[f"measure served {name}"]["log"])

    def test_what_fails_leaves_the_rest(self):
        self.play_all()
        package = self.home / "package"
        package.mkdir()
        self.run_script("--device", "GPU-a", "--batch", "2", "--network",
                        "mlp", "--network", "encoder", "--seconds", "0.2",
                        "--model-dir", package)
        found, steps, text = self.report()
        failed = steps["measure offline encoder, graphs"]
        self.assertEqual(failed["outcome"], "failed")
        self.assertIn("no memory", failed["reason"])
        self.assertIn("config.pbtxt",
                      steps[f"measure offline {package}, graphs"]["reason"])
        # A search without a rate is a result; its share is not known.
        self.assertEqual(steps["measure served encoder"]["outcome"], "passed")
        encoder = found["networks"]["encoder"]
        self.assertIsNone(encoder["in_process"]["share_of_offline"])
        self.assertIn("encoder: share of offline, in process: -; asked: at "
                      "least 0.9: does not hold", text)
        self.assertIsNone(encoder["served"]["found_rate"])
        self.assertIsNone(encoder["batching_gain"])
        self.assertEqual(
            steps["measure served encoder without batching"]["reason"],
            "at 0.5/s: nothing was measured")
        self.assertIsNone(encoder["served_without_batching"]["found_rate"])
        self.assertEqual(found["networks"]["mlp"]["batching_gain"], 3)
        self.assertIn("encoder, over loopback", text)

    def test_packages_are_compiled_here(self):
        self.play_all()
        self.play_exporter(EXPORTER)
        self.run_script("--device", "cuda:1", "--batch", "2,8", "--network",
                        "resnet50", "--network", "mlp", "--seconds", "0.2")
        found, steps, text = self.report()
        self.assertEqual(steps["measure package resnet50, compiled"]["output"],
                         "model.pt2, 1 MB")
        package = found["networks"]["resnet50"]["package"]
        self.assertEqual([one["rows"] for one in package["graphs"]], [2, 8])
        self.assertAlmostEqual(package["eager"][1]["tflops"],
                               4000 * 8.178368512e-3)
        self.assertIn("resnet50 as an AOTInductor package", text)
        self.assertEqual(found["networks"]["mlp"]["package"], {})
        words, visible = json.loads((self.home / "export.log").read_text())
        self.assertTrue(words[0].endswith("/export/examples/"
                                          "resnet50.py:resnet50"), words[0])
        parsed = export_command.parse(words)  # the real one takes them
        self.assertEqual((parsed.device, parsed.format, parsed.max_batch_size,
                          parsed.check), ("cuda", "pt2", 8, False))
        self.assertEqual(parsed.inputs[0].dims, (3, 224, 224))
        self.assertEqual(visible, "1")
        measured = [words for words, _ in self.lines("ferry-forward")
                    if "--model-dir" in words]
        self.assertEqual(["--no-graphs" in words for words in measured],
                         [False, True])

    def measure_encoder(self):
        self.run_script("--device", "cuda:1", "--batch", "2", "--network",
                        "encoder", "--seconds", "0.2")
        return self.report()[:2]

    def test_package_that_is_not_compiled_is_not_measured(self):
        self.play_all()
        self.play_exporter("import sys; sys.exit('export: error: no kernel')")
        found, steps = self.measure_encoder()
        failed = steps["measure package encoder, compiled"]
        self.assertEqual(failed["outcome"], "failed")
        self.assertIn("got 1: export: error: no kernel", failed["reason"])
        self.assertIn("no kernel", failed["output"])
        self.assertEqual(steps["measure package encoder, graphs"]["outcome"],
                         "skipped")
        (self.home / "triton.py").write_text("import nothing_like_it")
        found, steps = self.measure_encoder()
        skipped = steps["measure package encoder, compiled"]
        self.assertEqual(skipped["outcome"], "skipped")
        self.assertIn("nothing_like_it", skipped["reason"])
        (self.home / "triton.py").write_text("")
        (self.home / "toolkit" / "include" / "cuda.h").unlink()
        found, steps = self.measure_encoder()
        self.assertIn("no CUDA toolkit with include/cuda.h",
                      steps["measure package encoder, compiled"]["reason"])
        self.assertEqual(found["networks"]["encoder"]["package"], {})

    def test_copies_that_were_not_made_are_no_result(self):
        self.play_all()
        self.run_script("--device", "GPU-b", "--batch", "2", "--network",
                        "mlp", "--seconds", "0.2")
        found, steps, _ = self.report()
        self.assertIn("no CUDA device",
                      steps["measure rows to the device"]["reason"])
        self.assertIsNone(found["copy_in"])

    def test_a_result_of_a_program_that_failed_is_none(self):
        """Of a crash behind the result, and of a device that does not answer."""
        for end, rate, reason in (
                ("os.kill(os.getpid(), 11)", 20.0, "got -11"),
                ("sys.exit(1)", 0.0, "got 1")):
            self.play_all()
            self.play("ferry-inprocess", INPROCESS.replace("7400.0", "None")
                      .replace("7400,", f"{rate},") + end)
            self.run_script("--device", "cuda:1", "--batch", "2", "--network",
                            "resnet50", "--seconds", "0.2")
            found, steps, _ = self.report()
            step = steps["measure in process resnet50"]
            self.assertEqual(step["outcome"], "failed", step)
            self.assertIn(reason, step["reason"])
            self.assertIsNone(found["networks"]["resnet50"]["in_process"])

    def test_a_bundle_without_the_program_skips_its_step(self):
        self.play_all()
        (self.home / "bin" / "ferry-inprocess").unlink()
        self.run_script("--device", "cuda:1", "--batch", "2", "--network",
                        "resnet50", "--seconds", "0.2")
        found, steps, text = self.report()
        self.assertEqual(steps["measure in process resnet50"]["reason"],
                         "the bundle has no ferry-inprocess")
        self.assertIsNone(found["networks"]["resnet50"]["in_process"])
        self.assertNotIn("in process:", text)

    @unittest.skipIf(os.path.exists("/dev/nvidiactl"), "here is a device")
    def test_without_a_device_all_are_skipped(self):
        self.play_all()
        ended = self.run_script()
        self.assertEqual(ended.returncode, 77, ended.stdout + ended.stderr)
        _, steps, _ = self.report()
        self.assertEqual({step["reason"] for name, step in steps.items()
                          if name.startswith("measure ")}, {"no device"})

    def test_wrong_arguments_are_refused(self):
        self.play_all()
        for flags, said in ((["--batch", "0,1"], "expected sizes"),
                            (["--batch", "a"], "expected sizes"),
                            (["--network", "vgg"], "got 'vgg'"),
                            (["--measure-on", "tpu"], "expected cpu"),
                            (["--no-measure"], "not allowed")):
            ended = self.run_script(*flags)
            self.assertEqual(ended.returncode, 2, said)
            self.assertIn(said, ended.stderr)


if __name__ == "__main__":
    unittest.main()

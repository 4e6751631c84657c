"""What ferry-bench tells of the server's device: by NVML, which is the fake
libnvidia-ml.so.1 in $FERRY_FAKE_NVML_FOLDER, by the metrics of a Ferry on a
device and of a Triton, which are pages written here, and by none of them."""

import contextlib
import http.server
import itertools
import os
import tempfile
import threading
import unittest
from unittest import mock

from bench_results_test import BenchCase, RESULT

GPU = "GPU-aaaaaaaa-0000-1111-2222-333333333333"
SLICE = "MIG-11111111-aaaa-bbbb-cccc-dddddddddddd"
MIB = 1 << 20

WHOLE = ("driver version=580.95.05\n"
         f"gpu uuid={GPU} name=NVIDIA_H100 memory_mib=81559 mig=off busy=40 "
         "memory_busy=5 used_mib=2048 power_mw=350500 limit_mw=700000 celsius=45 "
         "sm_mhz=1980 memory_mhz=2619")
GPM = " gpm=yes gpm.1=90 gpm.2=75 gpm.5=20 gpm.10=60"
ENERGY = " energy_mj=" + ",".join(str(1000 * i) for i in range(1, 100))
MIG = (f"gpu uuid={GPU} name=NVIDIA_H200 memory_mib=143771 mig=on places=7 "
       "power_mw=500000\n"
       f"mig gpu=0 place=1 uuid={SLICE} name=NVIDIA_H200_MIG_1g.18gb gi=9 "
       "ci=0 sms=16 slices=1 memory_mib=16384 used_mib=100\n")

FERRY = (f'ferry_device_info{{uuid="{GPU}",profile="",name="NVIDIA H100",'
         'parent_uuid=""} 1\n'
         f'ferry_device_memory_bytes{{uuid="{GPU}",kind="used"}} {3 * MIB}\n'
         f'ferry_gpu_power_watts{{uuid="{GPU}"}} 71.5\n'
         f'ferry_gpu_busy_ratio{{uuid="{GPU}"}} 0.25\n'
         f'ferry_gpu_clock_hertz{{uuid="{GPU}",domain="sm"}} 1980000000\n')
TRITON = (f'nv_gpu_utilization{{gpu_uuid="{GPU}"}} 0.750000\n'
          f'nv_gpu_power_usage{{gpu_uuid="{GPU}"}} 65.250000\n'
          f'nv_gpu_memory_used_bytes{{gpu_uuid="{GPU}"}} {5 * MIB}\n'
          f'nv_energy_consumption{{gpu_uuid="{GPU}"}} 7000\n')


@contextlib.contextmanager
def fake_nvml(scenario):
    """The library of what is started meanwhile; None: there is none."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(scenario or "")
        file.flush()
        folder = (os.environ["FERRY_FAKE_NVML_FOLDER"] if scenario
                  else "/no/such/folder")
        with mock.patch.dict(os.environ, {"LD_LIBRARY_PATH": folder,
                                          "FERRY_FAKE_NVML": file.name}):
            yield


@contextlib.contextmanager
def page_of(text, failing=0):
    """Yields the address of a /metrics that says so, but not that time."""
    times = itertools.count(1)

    class Handler(http.server.BaseHTTPRequestHandler):

        def do_GET(self):
            page = text.encode()
            self.send_response(500 if next(times) == failing else 200)
            self.send_header("Content-Length", str(len(page)))
            self.end_headers()
            self.wfile.write(page)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class DeviceCase(BenchCase):

    def measured(self, *flags, **how):
        """Returns the one run of `run`, held against the schema, and what was
        printed."""
        document, text = self.run_server(*flags, **how)
        RESULT.validate(document)
        return document["runs"][0], text

    def page(self, name="page.html"):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def assertTells(self, device, **values):
        self.assertEqual(set(device), {"name", *values})
        for key, value in values.items():
            self.assertAlmostEqual(device[key], value, 6, key)


class NvmlTest(DeviceCase):

    def test_each_point_has_what_nvml_says_and_the_run_has_the_device(self):
        with fake_nvml(WHOLE):
            run, text = self.measured("--nvml", 0, "--outstanding", 1,
                                      "--rates", 50)
        self.assertEqual(
            run["device"],
            {"name": "NVIDIA H100", "uuid": GPU, "source": "NVML",
             "driver_version": "580.95.05", "memory_bytes": 81559 * MIB,
             "power_limit_w": 700, "sm_clock_mhz": 1980,
             "memory_clock_mhz": 2619})
        self.assertEqual([point["loop"] for point in run["points"]],
                         ["closed", "open"])
        for point in run["points"]:
            self.assertEqual(point["device"]["name"], "NVIDIA H100")
            self.assertTells(point["device"], utilization=0.4,
                             memory_used_bytes=2048 * MIB, power_w=350.5,
                             temperature_c=45, sm_clock_mhz=1980)
        self.assertRegex(text, r"GPU power W +GPU C +SM clock MHz\n")
        self.assertEqual(run["config"]["nvml"], "0")

    def test_gpm_comes_first_and_energy_is_a_difference(self):
        with fake_nvml(WHOLE + GPM + ENERGY):
            run, _ = self.measured("--nvml", GPU, "--outstanding", 1,
                                   seconds=1.2)
        device = run["points"][0]["device"]
        self.assertAlmostEqual(device["utilization"], 0.9)
        self.assertAlmostEqual(device["sm_ratio"], 0.75)
        self.assertAlmostEqual(device["tensor_ratio"], 0.2)
        self.assertAlmostEqual(device["dram_ratio"], 0.6)
        # Each read finds a joule more, and so short a window is read twice.
        self.assertAlmostEqual(device["energy_j"], 1)
        self.assertNotEqual(device["power_w"], 350.5)

    def test_other_commands_and_loads_have_it_too(self):
        with fake_nvml(WHOLE):
            offline, _ = self.measured("--nvml", 0, "--scenario", "offline:200",
                                       "--html", self.path("page.html"))
            shared, _ = self.measured("--nvml", 0, "--outstanding", 2,
                                      "--processes", 2)
            self.bench("search", "-u", self.server.address, "-m", "sim",
                       "--nvml", 0, "--slo-ms", 30, "--precision", 0.5,
                       "--confirmations", 1, "--first-rate", 100,
                       "--warm-up-secs", 0, "--duration-secs", 0.3, "--json",
                       self.path("search.json"), code=None)
        searched = self.read("search.json")
        RESULT.validate(searched)
        for point in (*offline["points"], *shared["points"],
                      *searched["runs"][0]["points"]):
            self.assertAlmostEqual(point["device"]["power_w"], 350.5)
        page = self.page()
        self.assertIn("Batch sizes of offline queries", page)
        self.assertNotIn("own counters, ", page)

    def test_power_of_a_slice_is_not_measured(self):
        with fake_nvml(MIG):
            run, _ = self.measured("--nvml", SLICE, "--outstanding", 1,
                                   "--html", self.path("page.html"))
        self.assertEqual(run["device"]["gpu_uuid"], GPU)
        self.assertTells(run["points"][0]["device"], power_w=500,
                         memory_used_bytes=100 * MIB)
        page = self.page()
        self.assertIn("the power of the slice alone", page)
        self.assertIn("the device&#39;s utilization: its counters", page)

    def test_two_servers_have_a_device_each(self):
        other = GPU.replace("a", "b")
        with fake_nvml(f"{WHOLE}\ngpu uuid={other} name=NVIDIA_T4 mig=none "
                       "memory_mib=15360 busy=10 memory_busy=5\n"):
            document, _ = self.run_server(
                "--outstanding", 1, "--nvml", 0, "--against",
                self.server.address, "--against-nvml", other)
        self.assertEqual([run["device"]["name"] for run in document["runs"]],
                         ["NVIDIA H100", "NVIDIA T4"])
        self.assertAlmostEqual(
            document["runs"][1]["points"][0]["device"]["utilization"], 0.1)

    def test_what_is_missing_ends_it_before_the_load(self):
        # No server is at that address: it has not been looked for.
        flags = ("run", "-u", "127.0.0.1:1", "-m", "sim", "--nvml")
        with fake_nvml(None):  # the machine may have one of its own
            self.assertIn("--nvml: expected ", self.bench(*flags, 99, code=1))
        with fake_nvml(WHOLE):
            self.assertIn("--nvml: expected a device that NVML sees, got "
                          "GPU-99; NVML sees: GPU 0 ",
                          self.bench(*flags, "GPU-99", code=1))
            self.assertIn("--nvml: expected the number of a GPU",
                          self.bench(*flags, "cpu", code=1))
        with fake_nvml("code call=nvmlInit_v2 code=9\n"):
            self.assertIn("DRIVER_NOT_LOADED", self.bench(*flags, 0, code=1))


class MetricsTest(DeviceCase):

    def test_page_of_a_ferry_on_a_device(self):
        with page_of(FERRY) as address:
            run, _ = self.measured("--metrics", address, "--outstanding", 1)
        self.assertEqual(run["device"],
                         {"name": "NVIDIA H100", "uuid": GPU,
                          "source": "metrics", "sm_clock_mhz": 1980})
        self.assertTells(run["points"][0]["device"], utilization=0.25,
                         memory_used_bytes=3 * MIB, power_w=71.5,
                         sm_clock_mhz=1980)

    def test_page_of_a_triton(self):
        with page_of(TRITON) as address:
            # Long enough for values that are renewed every 2 s.
            run, _ = self.measured("--metrics", address, "--outstanding", 1,
                                   seconds=5)
        self.assertEqual(run["device"], {"uuid": GPU, "source": "metrics"})
        self.assertEqual(run["points"][0]["device"]["name"], GPU)
        self.assertTells(run["points"][0]["device"], utilization=0.75,
                         memory_used_bytes=5 * MIB, power_w=65.25)

    def test_page_that_fails_once_loses_no_device(self):
        with page_of(FERRY, failing=2) as address:
            run, _ = self.measured("--metrics", address, "--outstanding", 1)
        self.assertAlmostEqual(run["points"][0]["device"]["power_w"], 71.5)

    def test_nvml_comes_before_metrics(self):
        with page_of(FERRY) as address, fake_nvml(WHOLE):
            run, _ = self.measured("--metrics", address, "--nvml", 0,
                                   "--outstanding", 1)
        self.assertEqual(run["device"]["source"], "NVML")
        self.assertAlmostEqual(run["points"][0]["device"]["power_w"], 350.5)

    def test_metrics_that_cannot_be_read_end_it_before_any_load(self):
        with page_of("up 1\n") as other, page_of("Hello!\n") as no_metrics:
            for command in (("run", "--outstanding", 1),
                            ("search", "--slo-ms", 5), ("tune", "--slo-ms", 5)):
                for address, found in (
                        ("127.0.0.1:1", "found no answer: "),
                        (self.server.address, "found no answer: "),
                        (f"http://{other}", "found no answer: "),
                        (other, "found none of them"),
                        (no_metrics, "found none of them")):
                    text = self.bench(*command, "-u", self.server.address,
                                      "-m", "sim", "--metrics", address, code=1)
                    self.assertEqual(len(text.splitlines()), 1, text)
                    self.assertIn("ferry-bench: --metrics: expected", text)
                    self.assertIn(f"http://{address}/metrics, {found}", text)
                    self.assertIn("; give host:port of its metrics port", text)

    def test_server_on_a_processor_has_none(self):
        own = f"127.0.0.1:{self.server.metrics_port}"
        for flags in ((), ("--metrics", own)):
            run, text = self.measured("--outstanding", 1, *flags, "--html",
                                      self.path("page.html"))
            self.assertNotIn("device", run)
            self.assertNotIn("device", run["points"][0])
            self.assertNotIn("GPU power W", text)
            self.assertIn("the device&#39;s own counters, ", self.page())


if __name__ == "__main__":
    unittest.main()

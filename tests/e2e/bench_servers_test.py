"""ferry-bench at servers of the protocol that are not Ferry: those with its base
service alone, replies in either form, headers and TLS."""

import concurrent.futures
import json
import time
import unittest

import grpc
from tritonclient.grpc import service_pb2 as pb

import base_service
from base_service import BaseService, serving
from bench_results_test import RESULT
from bench_runner import BenchRunner
from ferry_process import free_port

NO_CONFIG = "the server has no ModelConfig"
# The first window decides, whatever comes after.
SEARCH = ("--slo-ms", 5, "--precision", 0.5, "--confirmations", 1,
          "--first-rate", 20)


class RefusingService(BaseService):
    """Takes so many requests, then none: their ids are past its vocabulary."""

    def __init__(self):
        super().__init__({})
        self.taken = 0

    def ModelMetadata(self, request, context):
        metadata = pb.ModelMetadataResponse(name=request.name)
        metadata.inputs.add(name="ids", datatype="INT64", shape=[-1, 4])
        metadata.outputs.add(name="out", datatype="FP32", shape=[-1])
        return metadata

    def ModelInfer(self, request, context):
        self.taken -= 1
        if self.taken < 0:
            context.abort(grpc.StatusCode.INTERNAL,
                          "index out of range\n\x1b[31mforged")
        reply = pb.ModelInferResponse(model_name="m", id=request.id)
        reply.outputs.add(name="out", datatype="FP32", shape=[1])
        reply.raw_output_contents.append(bytes(4))
        return reply


class ServersCase(BenchRunner):

    def setUp(self):
        super().setUp()
        self.json = self.path("result.json")

    def measure(self, address, *flags, command="run", code=0):
        """Returns the one run that the command made, held against the schema."""
        self.bench(command, "-u", address, "-m", "m", "--warm-up-secs", 0,
                   "--duration-secs", 0.3, "--json", self.json, *flags,
                   code=code)
        with open(self.json, encoding="utf-8") as file:
            document = json.load(file)
        RESULT.validate(document)
        self.assertEqual(len(document["runs"]), 1)
        return document["runs"][0]

    def refusal(self, address, *flags):
        return self.bench("run", "-u", address, "-m", "m", "--outstanding", 1,
                          *flags, code=1)


class BaseServiceTest(ServersCase):

    def test_replies_of_both_forms_with_a_config_and_without(self):
        for typed in (False, True):
            for rows in (None, 8):
                service = BaseService({"x": [-1, 4]}, typed, rows)
                with self.subTest(typed=typed, max_batch_size=rows), \
                        serving(service) as address:
                    page = self.path("page.html")
                    run = self.measure(address, "--outstanding", 2, "--rates",
                                       50, "--rows", 3, "--html", page)
                    self.assertEqual([point["loop"] for point in run["points"]],
                                     ["closed", "open"])
                    for point in run["points"]:
                        self.assertGreater(point["ok"], 0)
                        self.assertEqual(point["errors"], {})
                        self.assertNotIn("busy_ratio", {
                            key for key, value in point.items()
                            if value is not None})
                    self.assertEqual(run["model"]["max_batch_size"], rows)
                    self.assertEqual(run["model"]["simulated"],
                                     None if rows is None else False)
                    self.assertEqual(run["rows_per_request"], 3)
                    with open(page, encoding="utf-8") as file:
                        self.assertEqual(NO_CONFIG in file.read(), rows is None)
                    self.assertTrue(
                        all(one == [[3, 4]] for one in service.requests))
                    # Whether it finds a rate is a matter of how busy it is.
                    run = self.measure(address, *SEARCH, command="search",
                                       code=None)
                    self.assertGreater(sum(p["ok"] for p in run["points"]), 0)

    def test_result_without_a_config_is_read_again(self):
        with serving(BaseService({"x": [-1, 4]})) as address:
            self.measure(address, "--outstanding", 1)
        again = self.path("again.json")
        self.bench("report", self.json, "--json", again, "--markdown",
                   self.path("again.md"))
        with open(again, encoding="utf-8") as file:
            model = json.load(file)["runs"][0]["model"]
        self.assertIsNone(model["max_batch_size"])
        self.assertIsNone(model["simulated"])

    def test_server_that_comes_after_its_client_was_refused(self):
        address = f"127.0.0.1:{free_port()}"
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            run = pool.submit(self.measure, address, "--outstanding", 1,
                              "--wait-ready-secs", 4)
            time.sleep(0.5)
            with serving(BaseService({"x": [-1, 4]}), at=address):
                self.assertGreater(run.result()["points"][0]["ok"], 0)

    def test_model_that_refuses_contents_gets_advice(self):
        """Also where only later requests fail; in plain words, and printable."""
        service = RefusingService()
        with serving(service) as address:
            told = self.refusal(address)
            self.assertIn("INTERNAL: index out of range\\x0a\\x1b[31mforged; 'ids' "
                          "has random integers from 0 to 1: --range "
                          "ids:LOW:HIGH draws others", told)
            self.assertNotIn("\x1b", told)
            told = self.refusal(address, "--range", "ids:0:99")
            self.assertIn("'ids' has random integers from 0 to 99, by --range",
                          told)
            service.taken = 1
            self.measure(address, "--outstanding", 1, code=1)
            service.taken = 1
            told = self.bench("run", "-u", address, "-m", "m", "--outstanding",
                              1, "--warm-up-secs", 0, "--duration-secs", 0.2,
                              code=1)
            self.assertRegex(told, "INTERNAL: the model may refuse what was "
                             "sent: 'ids' has random integers from 0 to 1")

    def test_rows_of_whole_shapes(self):
        with serving(BaseService({"x": [8, 4]})) as address:
            self.assertIn("--rows: expected 1 or 8, as input 'x' of model 'm' "
                          "has shape [8,4]", self.refusal(address, "--rows", 2))
            self.assertEqual(self.measure(address, "--outstanding", 1, "--rows",
                                          8)["rows_per_request"], 8)
        service = BaseService({"x": [-1, 4], "limit": [1]})
        with serving(service) as address:
            self.measure(address, "--outstanding", 1, "--rows", 2)
        self.assertEqual(service.requests[0], [[2, 4], [1]])

    def test_shapes_of_a_row_and_whole_ones(self):
        service = BaseService({"x": [-1, -1]})
        with serving(service) as address:
            self.assertIn("--shape x:", self.refusal(address))
            self.measure(address, "--outstanding", 1, "--rows", 2, "--shape",
                         "x:5")
            self.measure(address, "--outstanding", 1, "--shape", "x:3,7")
            self.assertIn("expected [-1], got [1,2,3]",
                          self.refusal(address, "--shape", "x:1,2,3"))
        self.assertEqual(service.requests[0], [[2, 5]])
        self.assertEqual(service.requests[-1], [[3, 7]])

    def test_offline_takes_its_sizes_where_no_config_tells_them(self):
        service = BaseService({"x": [-1, 4]})
        with serving(service) as address:
            for sizes in ("10", "10,2"):
                self.assertIn(
                    "--scenario: expected offline:SAMPLES,ROWS,OUTSTANDING",
                    self.bench("run", "-u", address, "-m", "m", "--scenario",
                               f"offline:{sizes}", code=1))
            run = self.measure(address, "--scenario", "offline:10,2,3")
        point = run["points"][0]
        self.assertEqual((point["query_rows"], point["outstanding"]), (10, 3))
        self.assertEqual(service.requests[-1], [[2, 4]])

    def test_runtime_options_are_ferrys_own(self):
        with serving(BaseService({"x": [-1, 4]})) as address:
            told = self.bench("tune", "-u", address, "-m", "m", *SEARCH, code=1)
        self.assertIn("the server has no such call of ferry.v1.Admin", told)

    def test_soak_compares_raw_contents(self):
        flags = ("-m", "m", "--duration-secs", 1, "--rate", 20, "--max-rows", 3,
                 "--wrong-share", 0, "--cancelled-share", 0, "--deadline-share",
                 0)
        service = BaseService({"x": [-1, 4]})
        with serving(service) as address:  # memory that is not read holds
            self.bench("soak", "-u", address, *flags, "--max-rss-slope", 0)
        self.assertIn([[3, 4]], service.requests)
        with serving(BaseService({"x": [-1, 4]}, typed=True)) as address:
            self.assertIn("expected those of 1 outputs, found 0", self.bench(
                "soak", "-u", address, *flags, code=1))

    def test_first_reply_that_does_not_fit(self):
        for typed in (False, True):
            service = BaseService({"x": [-1, 4]}, typed)
            service.missing = 1
            with serving(service) as address:
                told = self.refusal(address)
            self.assertIn("first reply: expected output 'out', FP32 of shape "
                          "[1,4], ", told)
            self.assertIn("found 3" if typed else "in 16 bytes, found 12", told)

    def test_config_that_fails_otherwise_ends_it(self):
        service = BaseService({"x": [-1, 4]})

        def fail(request, context):
            context.abort(base_service.grpc.StatusCode.PERMISSION_DENIED, "no")

        service.ModelConfig = fail
        with serving(service) as address:
            self.assertIn("ModelConfig for model 'm'", self.refusal(address))

    def test_model_without_inputs(self):
        with serving(BaseService({})) as address:
            self.assertIn("expected its inputs, by which requests are made; "
                          "found none", self.refusal(address))


class ConnectionTest(ServersCase):

    HOST = "models.example"

    def tls(self, host=HOST):
        """Returns a server's credentials and the file of its certificate."""
        key, certificate = base_service.make_certificate(self.folder, host)
        return base_service.credentials_of(key, certificate), certificate

    def test_headers_are_on_every_call_and_their_values_in_no_result(self):
        service = BaseService({"x": [-1, 4]})
        secret = "Bearer abc:def"
        with serving(service) as address:
            run = self.measure(address, "--outstanding", 2, "--header",
                               f"Authorization: {secret}",
                               "--header=x-tenant:7", "--processes", 2)
        self.assertGreater(len(service.headers), 2)
        for headers in service.headers:
            self.assertEqual(headers["authorization"], secret)
            self.assertEqual(headers["x-tenant"], "7")
        self.assertEqual(run["config"]["header"],
                         "Authorization:...,x-tenant:...")
        self.assertIn("--header Authorization:... --header=x-tenant:...",
                      run["command"])
        with open(self.json, encoding="utf-8") as file:
            self.assertNotIn("abc", file.read())

    def test_wrong_headers(self):
        for header in ("no value", ":path:x", "grpc-timeout:1S", "te:x",
                       "ü:x"):
            told = self.refusal("127.0.0.1:1", "--header", header)
            self.assertIn("--header: expected NAME:VALUE", told)
        self.assertIn("printable ASCII", self.refusal(
            "127.0.0.1:1", "--header", "x-name:ü"))

    def test_tls_with_a_certificate_of_another_name(self):
        credentials, certificate = self.tls()
        service = BaseService({"x": [-1, 4]})
        flags = ("--tls", "--tls-ca", certificate)
        with serving(service, credentials) as address:
            run = self.measure(address, "--outstanding", 2, "--rates", 20,
                               *flags, "--authority", self.HOST)
            for point in run["points"]:
                self.assertGreater(point["ok"], 0)
                self.assertEqual(point["errors"], {})
            self.measure(address, *SEARCH, *flags, "--authority", self.HOST,
                         command="search", code=None)
            short = ("--wait-ready-secs", 0.5)
            self.assertIn("UNAVAILABLE", self.refusal(address, *flags, *short))
            self.assertIn("UNAVAILABLE", self.refusal(
                address, "--tls", "--authority", self.HOST, *short))
            self.assertIn("UNAVAILABLE", self.refusal(address, *short))

    def test_files_that_are_no_certificates(self):
        key, _ = base_service.make_certificate(self.folder, self.HOST)
        with open(self.path("broken.pem"), "w", encoding="utf-8") as file:
            file.write("-----BEGIN CERTIFICATE-----\nno\n"
                       "-----END CERTIFICATE-----\n")
        for path, why in ((key, "found none in"),
                          (self.path("broken.pem"), "cannot be read"),
                          (self.path("none.pem"), "cannot read"),
                          (self.folder, "cannot read")):
            told = self.refusal("127.0.0.1:1", "--tls", "--tls-ca", path)
            self.assertIn("--tls-ca: ", told)
            self.assertIn(why, told)
        self.assertIn("--tls-ca requires --tls", self.refusal(
            "127.0.0.1:1", "--tls-ca", key))


if __name__ == "__main__":
    unittest.main()

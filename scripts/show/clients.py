"""B1: the published clients against a real server, and what it says to wrong
requests. Needs numpy and tritonclient, of .venv, and the network at first."""

import importlib.metadata
import json
import os
import sys

import measuring

TESTS = measuring.ROOT / "tests/e2e"
SCRIPTS = measuring.ROOT / "scripts"

# Client: the modules of tests that it is shown by.
SUITES = {
    "tritonclient, threads": ["rpcs", "types", "bytes", "texts", "health"],
    "tritonclient, callbacks and asyncio": ["in_flight"],
    "tritonclient, streams": ["stream"],
    "tritonclient, model repository": ["repository"],
    "perf_analyzer": ["perf_analyzer"],
    "grpcurl": ["grpcurl", "reflection"],
    "wrong requests": ["wrong_requests"],
    "examples, C++ and Python": ["examples"],
}

PACKAGES = ["tritonclient", "grpcio", "protobuf", "numpy"]
PERF_COLUMNS = ["Inferences/Second", "Server Queue", "Server Compute Input",
                "Server Compute Infer", "Server Compute Output", "Avg latency"]


def install_tools():
    """Returns the version of each tool; builds grpcurl where it is not there."""
    from tools import Tool  # pylint: disable=import-outside-toplevel
    versions = {}
    for name in ("perf_analyzer", "grpcurl"):
        measuring.say(f"{name}, installed on first use")
        measuring.run(["bash", SCRIPTS / f"{name}.sh", "--version"])
        versions[name] = Tool(name).require()
    return versions


def build_example():
    """Returns the C++ example, built as a user does: as a project of its own."""
    folder = measuring.ROOT / "build/example"
    measuring.say("building examples/cpp alone")
    measuring.run(["cmake", "-S", measuring.ROOT / "examples/cpp", "-B", folder])
    measuring.run(["cmake", "--build", folder, "--parallel", "2"])
    return str(folder / "ferry-example-client")


def run_suites(environment):
    """Returns how each test ended, with its client."""
    ended = []
    for client, modules in SUITES.items():
        for module in modules:
            measuring.say(f"{client}: {module}_test")
            text = measuring.run(
                [sys.executable, SCRIPTS / "show/run_suite.py",
                 f"{module}_test"], cwd=TESTS, env=environment)
            tests = json.loads(text)
            if not tests:
                raise measuring.Failure(f"{module}_test holds no tests")
            ended += [{"client": client} | test for test in tests]
    return ended


def ask_wrongly():
    """Returns what the server says to each wrong request of the tests."""
    # pylint: disable=import-outside-toplevel
    import grpc
    import wrong_requests
    import wrong_requests_test
    from tritonclient.grpc import service_pb2_grpc
    answers = []
    wrong_requests_test.setUpModule()
    try:
        with grpc.insecure_channel(
                wrong_requests_test.server.address) as channel:
            stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
            for wrong in wrong_requests.ALL:
                try:
                    stub.ModelInfer(wrong.request())
                    code, text = "OK", ""
                except grpc.RpcError as error:
                    code, text = error.code().name, error.details()
                right = stub.ModelInfer(wrong_requests.right_request())
                answers.append({
                    "request": wrong.what, "code": code, "message": text,
                    "passed": code == wrong.code and wrong.expected in text and
                              wrong.found in text,
                    "served_after": list(right.raw_output_contents) ==
                                    [wrong_requests.ROWS]})
    finally:
        wrong_requests_test.tearDownModule()
    return answers


def measure_with_perf_analyzer():
    """Returns the rows of perf_analyzer's reports, with their arguments."""
    # pylint: disable=import-outside-toplevel
    import perf_analyzer_test
    perf_analyzer_test.setUpModule()
    perf_analyzer_test.tearDownModule()
    return [{"arguments": " ".join(perf_analyzer_test.RUNS[name])} | row
            for name, (_, _, rows) in perf_analyzer_test.reports.items()
            for row in rows]


def write_page(result):
    tests, wrong = result["tests"], result["wrong_requests"]
    page = measuring.table(["what", "version"],
                           result["versions"].items()) + "\n"
    counts = []
    for client in SUITES:
        mine = [test for test in tests if test["client"] == client]
        counts.append([client, *(sum(test["outcome"] == outcome
                                     for test in mine) for outcome in
                                 ("passed", "failed", "skipped"))])
    page += measuring.table(["client", "passed", "failed", "skipped"], counts)
    page += "\n## perf_analyzer\n\nMicroseconds; a simulated model of 1 ms.\n\n"
    page += measuring.table(
        ["arguments", *PERF_COLUMNS],
        [[row["arguments"], *(row[column] for column in PERF_COLUMNS)]
         for row in result["perf_analyzer"]])
    page += ("\n## Wrong requests\n\nEach followed by a right one, which got its "
             f"rows: {sum(answer['served_after'] for answer in wrong)} of "
             f"{len(wrong)}.\n\n")
    page += measuring.table(
        ["request", "code", "message"],
        [[answer["request"], answer["code"],
          answer["message"].removeprefix("[request id: r] ")]
         for answer in wrong])
    page += "\n## Every check\n\n"
    return page + measuring.table(
        ["client", "test", "outcome"],
        [[test["client"], test["test"],
          f"{test['outcome']} {test['why']}".strip()] for test in tests])


def measure(options):
    result = measuring.describe(
        "B1", "tritonclient, perf_analyzer and grpcurl work unchanged; a wrong "
        "request gets its code, what was expected and what was found, and the "
        "server is still right after", options.command)
    os.environ |= {"FERRY_SERVER": options.programs.path("ferry-server"),
                   "FERRY_EXAMPLE": build_example(),
                   "FERRY_WRITE_SCRIPTS":
                       str(measuring.ROOT / "build/release/tests/write_scripts")}
    sys.path.append(str(TESTS))
    versions = {"ferry-server": measuring.run(
        [options.programs.path("ferry-server"), "--version"]).strip()}
    versions |= {name: importlib.metadata.version(name) for name in PACKAGES}
    result["versions"] = versions | install_tools()
    result["tests"] = run_suites(dict(os.environ))
    result["perf_analyzer"] = measure_with_perf_analyzer()
    result["wrong_requests"] = ask_wrongly()
    result["passed"] = (
        all(test["outcome"] == "passed" for test in result["tests"]) and
        all(answer["passed"] and answer["served_after"]
            for answer in result["wrong_requests"]))
    return result, write_page(result)

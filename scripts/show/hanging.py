"""hang: batches and threads that hang: when a server is not ready any more, past the
bound of 5 s, and when its process is gone, past --backend-timeout-secs. A main thread
that hangs has a bound of its own, and ends nothing: ferry-launch does.

The batch hangs on a simulated device, the thread in a library that is preloaded
(tests/e2e/stall.cc).
"""

import os
import socket
import sys
import tempfile
import time
from unittest import mock

import grpc
import measuring

from tritonclient.grpc import service_pb2_grpc

sys.path.append(str(measuring.ROOT / "tests/e2e"))
import ending_test  # noqa: E402
import ferry_process  # noqa: E402

BOUND_S = 5  # BackendWatch::kOverdue and ThreadWatch::kStalls
TIMEOUT_S = 12  # --backend-timeout-secs
EXIT_S = 1  # --exit-timeout-secs
MOST_PAST_S = 1.0
# What the process takes beyond both: Server::kMaxTeardown and half a second more.
MOST_TAKE_APART_S = 1.5
TRIES = 5
POLL_S = 0.005
GIVE_UP_S = 60
HANGS_AT_SECOND = ferry_process.sim_config(max_batch_size=1, alpha_ms=1, beta_ms=0,
                                           hang_every=2)


class Hang:
    """A server of which something hangs from `at` on."""

    bound_s = BOUND_S
    ends = True  # the process does by itself

    def __init__(self, programs):
        ferry_process.SERVER = programs.path("ferry-server")
        ferry_process.MODELS["hangs"] = HANGS_AT_SECOND
        self.at = None

    def start(self):
        return ferry_process.FerryProcess(
            f"--backend-timeout-secs={TIMEOUT_S}", f"--exit-timeout-secs={EXIT_S}",
            models=["hangs"])


class BatchHangs(Hang):
    name = "a batch"

    def hang(self, server):
        with grpc.insecure_channel(server.address) as channel:
            stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
            stub.ModelInfer(ending_test.one_row("hangs"), timeout=GIVE_UP_S)
            self.at = time.monotonic()
            call = stub.ModelInfer.future(ending_test.one_row("hangs"),
                                          timeout=GIVE_UP_S)
            yield
            call.cancel()


class ThreadHangs(Hang):
    """The bound counts from its thread's last turn, up to a second before the stall:
    what is measured, from the stall on, is less by that."""

    def __init__(self, programs, folder, thread):
        super().__init__(programs)
        self.library = programs.folder.parent / "lib/libferry_test_stall.so"
        self.name = f"the thread {thread}"
        self.stalls = {"FERRY_STALL_THREAD": thread}
        self.sign = os.path.join(folder, thread)

    def start(self):
        if not self.library.exists():
            raise measuring.Failure(f"{self.library} does not exist; "
                                    "scripts/build.sh release all builds it")
        with mock.patch.dict(os.environ, {
                "LD_PRELOAD": str(self.library), "FERRY_STALL_WHILE": self.sign,
                **self.stalls}):
            return super().start()

    def hang(self, server):
        with open(self.sign, "w", encoding="utf-8"):
            self.at = time.monotonic()
        yield
        os.remove(self.sign)


class MainThreadHangs(ThreadHangs):
    bound_s = 30  # Readiness::kNoLook
    ends = False

    def __init__(self, programs, folder):
        super().__init__(programs, folder, "main")
        self.name = "the main thread"
        # It alone reads this, at each look at its memory.
        self.stalls = {"FERRY_STALL_FOLDER": "/proc/self/status"}


def is_ready(server):
    """Returns whether it says so at once; False: 503."""
    with socket.create_connection(("127.0.0.1", server.metrics_port),
                                  timeout=GIVE_UP_S) as connection:
        connection.sendall(b"GET /v2/health/ready HTTP/1.1\r\nHost: a\r\n"
                           b"Connection: close\r\n\r\n")
        answer = connection.recv(100).split(b"\r\n")[0]
    if b" 200 " not in answer and b" 503 " not in answer:
        raise measuring.Failure(f"/v2/health/ready answers {answer}")
    return b" 200 " in answer


def seconds_until(condition, began):
    while not condition():
        if time.monotonic() - began > GIVE_UP_S:
            raise measuring.Failure("what hangs was not told in a minute")
        time.sleep(POLL_S)
    return time.monotonic() - began


def one_try(hang):
    """Returns how long it took, in seconds past the bounds."""
    server = hang.start()
    try:
        steps = hang.hang(server)
        next(steps)
        not_ready_s = seconds_until(lambda: not is_ready(server), hang.at)
        told = {"not_ready_past_s": not_ready_s - hang.bound_s}
        if hang.ends:
            gone_s = seconds_until(lambda: server.process.poll() is not None, hang.at)
            told |= {"gone_past_s": gone_s - TIMEOUT_S - EXIT_S,
                     "exit_code": server.process.returncode}
        for _ in steps:
            pass
    finally:
        server.process.kill()
        server.stop()
    return told


def past(times):
    """Returns median and most, as a page has them."""
    return [f"{which(times):.2f}" if times else "-"
            for which in (measuring.median, max)]


def measure(options):
    result = measuring.describe(
        "hang", f"a server of which a batch or a thread hangs is not ready at most "
        f"{MOST_PAST_S:.0f} s past {BOUND_S} s ({MainThreadHangs.bound_s} s where its "
        "main thread hangs, which ends no process), and gone, with exit code 3, at most "
        f"{MOST_PAST_S + MOST_TAKE_APART_S:.1f} s past --backend-timeout-secs and "
        "--exit-timeout-secs", options.command)
    rows, holds = [], True
    result["tries"] = {}
    with tempfile.TemporaryDirectory() as folder:
        for hang in (BatchHangs(options.programs),
                     ThreadHangs(options.programs, folder, "ferry-infer"),
                     ThreadHangs(options.programs, folder, "ferry-accept"),
                     MainThreadHangs(options.programs, folder)):
            measuring.say(hang.name)
            tries = [one_try(hang) for _ in range(TRIES)]
            result["tries"][hang.name] = tries
            not_ready = [each["not_ready_past_s"] for each in tries]
            gone = [each["gone_past_s"] for each in tries if hang.ends]
            codes = {each["exit_code"] for each in tries if hang.ends}
            holds &= (max(not_ready) <= MOST_PAST_S and
                      (not hang.ends or codes == {3} and
                       max(gone) <= MOST_PAST_S + MOST_TAKE_APART_S))
            rows.append([hang.name, hang.bound_s, *past(not_ready), *past(gone),
                         ", ".join(map(str, sorted(codes))) or "-"])
    result["passed"] = holds
    page = (f"{TRIES} tries each; seconds past the bound, median and most. The bound "
            f"of the end is {TIMEOUT_S} s and {EXIT_S} s; a server whose main thread "
            "hangs is ended by ferry-launch. A thread has last turned up to a second "
            "before it stalls, so its times may be below 0.\n\n")
    page += measuring.table(["hangs", "bound, s", "not ready", "most", "gone", "most",
                             "exit code"], rows)
    return result, page

"""What only a device can show of a server that serves on it: steps as those of
steps.py, each with a server of its own, and again under compute-sanitizer, smaller.

Errors: those of a step are its outcome. Under compute-sanitizer, what is not done
within its bound, and without an error so far, is skipped.
"""

import concurrent.futures
import contextlib
import dataclasses
import pathlib
import shutil
import tempfile

import client
import packages
import sanitizer
from programs import Wrong
from served_models import MOST_ROWS, Copy, Drawing, Layers, Product
from serving import (MIB, Beside, Late, Readings, Serving, await_host)
from steps import Skip

# It is a share of the device's memory: eight rows are too many for it, four are not.
SHARE_OF_ROW = 0.15
UNSENT_MIB = 64  # the bound on replies that nobody reads
# The connections that read nothing bring so many replies of 1 MiB each; as many
# of both together pass the bound.
SLOW_CLIENTS, UNREAD = 2, 48
WIDTHS = 1024, 1024, 1024  # weights of 4 MiB in bf16
BUSY_WIDTHS = 1024, 4096, 4096, 1024

AFFINE = """import torch


class Affine(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("w", torch.arange(1.0, 7.0).view(2, 3))

    def forward(self, x):
        return torch.nn.functional.linear(x, self.w)
"""


@dataclasses.dataclass(frozen=True)
class Size:
    """How much of everything is done, and in which time."""

    bound_s: float = 150  # of a check, from the start of its server
    rounds: int = 5  # of models that come and go
    cycles: int = 20
    bursts: int = 4  # of replies that nobody reads
    tool: bool = False  # under compute-sanitizer


SMALL = Size(bound_s=300, rounds=1, cycles=2, bursts=1, tool=True)


class Checks:
    """The checks by name; `with` removes what they made."""

    def __init__(self, check):
        self.check = check
        self._stack = contextlib.ExitStack()
        self._packages = {}  # folder by device

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._stack.close()

    def run(self, name, device, size=Size()):
        check = self.check
        title = f"serving: {TITLES[name]}"
        if size.tool:
            title = f"memcheck {title}"
        with check.step(title, device) as kept:
            check.need(device)
            check.need_torch()
            if not (check.home / "tests" / "scripts").is_dir():
                raise Skip("the bundle has no tests/scripts/")
            tool = sanitizer.find_tool() if size.tool else ()
            try:
                getattr(self, name)(Setting(check, kept, device, size, tool))
            except Late as late:
                # It says nothing of a tool that is slow.
                if size.tool and not sanitizer.FINDING.search(
                        kept.get("log", "")):
                    raise Skip(f"{late}, and no error so far") from None
                raise Wrong(str(late)) from None
            finally:
                if size.tool:
                    sanitizer.refuse_device(kept.get("log", ""))

    # --- the checks -----------------------------------------------------------

    def captures(self, of):
        """A forward that waits for the device breaks its capture; then another
        model is loaded, and has graphs."""
        waits, late, steady = (Product("waits"), Product("late", "linear"),
                               Product("linear"))
        with of.serving([waits, late, steady], [steady]) as serving, \
                Beside(serving, steady):
            readings = Readings(serving)
            for _ in range(of.size.rounds):
                serving.load(waits)
                serving.load(late)
                for model in (waits, late):
                    serving.ask(model, 1, 3, MOST_ROWS)
                serving.require_events(waits, graph_launched=(0, 0),
                                       no_graph=(3, None))
                serving.require_events(late, graph_launched=(3, None),
                                       no_graph=(0, 0))
                readings.add()
                for model in (waits, late):
                    serving.unload(model)
            readings.require_no_growth()

    def random(self, of):
        """Models that draw random numbers, while graphs of another are
        recorded."""
        draws, late = Drawing("random"), Product("late", "linear")
        with of.serving([draws, late], [draws]) as serving:
            with Beside(serving, draws) as load:
                for _ in range(of.size.rounds):
                    load.await_more()
                    serving.load(late)
                    serving.ask(late, 1, 3, MOST_ROWS)
                    serving.require_events(late, graph_launched=(3, None),
                                           no_graph=(0, 0))
                    serving.unload(late)
            with serving.connect() as connection:
                x = draws.rows(1, seed=0)
                answers = {tuple(draws.ask_rows(connection, x))
                           for _ in range(8)}
            if len(answers) == 1:
                raise Wrong("expected different answers of a model that draws "
                            "random numbers, got the same 8 times")
            serving.require_events(draws, graph_launched=(0, 0),
                                   no_graph=(9, None))

    def cycles(self, of):
        """A model comes and goes beside one that serves: memory."""
        steady, passing = Product("linear"), Layers("passing", WIDTHS)
        with of.serving([steady, passing], [steady]) as serving, \
                Beside(serving, steady) as load:
            readings = Readings(serving)
            for _ in range(of.size.cycles):
                serving.load(passing)
                if not passing.first:
                    with serving.connect() as connection:
                        passing.remember(connection)
                serving.ask(passing, 1, 3, MOST_ROWS)
                readings.add()
                load.await_more()
                serving.unload(passing)
            readings.require_no_growth()

    def memory(self, of):
        """A batch for which the device has no memory is halved; weights for
        which it has none fail their load; others serve on."""
        if of.device == "cpu":
            raise Skip("no device, whose memory is the bound")
        takes, heavy, steady = (Product("takes"), Product("heavy"),
                                Product("linear"))
        with of.serving([takes, heavy, steady], [takes, steady]) as serving, \
                Beside(serving, steady) as load:
            mib = serving.metric("ferry_device_memory_bytes",
                                 kind="total") / MIB
            serving.figure("total MiB", round(mib))
            with serving.connect() as connection:
                # All rows take as much as the largest number says.
                fits = [[bf16_below(SHARE_OF_ROW * mib), 0, 0]]
                takes.ask_rows(connection, fits)
                serving.require_events(takes, out_of_memory=(0, 0))
                for seed in range(3):  # in halves from the first on
                    others = takes.rows(MOST_ROWS - 1, seed)
                    takes.ask_rows(connection, fits + others)
                    serving.require_events(takes, out_of_memory=(1, 1))
                refuse(lambda: takes.ask_rows(connection, [[2 * mib, 0, 0]]),
                       "a row that is larger than the device",
                       client.RESOURCE_EXHAUSTED)
                serving.require_events(takes, out_of_memory=(2, None))
                takes.ask_rows(connection, fits)
            refuse(lambda: serving.load(heavy),
                   "the load of weights that are larger than the device")
            load.await_more()
            serving.require_events(steady, out_of_memory=(0, 0))

    def together(self, of):
        """Two models at once, their answers and rates."""
        small, large = Product("linear"), Layers("layers", BUSY_WIDTHS)
        seconds = max(1, of.check.seconds)  # the large one takes its time
        with of.serving([small, large], [small, large]) as serving:
            with serving.connect() as connection:
                large.remember(connection)
            alone = {model.name: serving.bench(model, seconds)
                     for model in (small, large)}
            with Beside(serving, small, 1), Beside(serving, large, 1), \
                    concurrent.futures.ThreadPoolExecutor(2) as pool:
                rates = {model.name: pool.submit(serving.bench, model, seconds)
                         for model in (small, large)}
                for name, rate in rates.items():
                    serving.figure(f"{name} alone/s", round(alone[name], 1))
                    serving.figure(f"{name} together/s",
                                   round(rate.result(), 1))
            for model in (small, large):
                serving.require_events(model, graph_launched=(1, None),
                                       out_of_memory=(0, 0))

    def package(self, of):
        """An AOTInductor package in the server's process."""
        folder = self._package(of.kept, of.device)
        model, steady = Compiled("affine", folder), Product("linear")
        with of.serving([model, steady], [steady]) as serving, \
                Beside(serving, steady):
            readings = Readings(serving)
            for _ in range(of.size.rounds):
                serving.load(model)
                serving.ask(model, 1, 3, MOST_ROWS)
                readings.add()
                serving.unload(model)
            readings.require_no_growth()

    def readers(self, of):
        """Replies lie in memory that the device wrote until clients read them:
        slowly, or never."""
        wide, steady = Copy(), Product("linear")
        with of.serving([wide, steady], [wide, steady],
                        [f"--grpc-max-unsent-bytes={UNSENT_MIB * MIB}"]
                        ) as serving, Beside(serving, steady) as load:
            read_slowly(serving, wide)
            readings = Readings(serving)
            for _ in range(of.size.bursts):
                leave_unread(serving, wide, load)
                readings.add()
            hosts = readings.host
            if None not in hosts:
                await_host(serving, hosts[0], "after replies that nobody read")
            with serving.connect() as connection:
                wide.ask(connection, seed=7)

    def _package(self, kept, device):
        """Returns the folder of the package, compiled once for a device."""
        if device not in self._packages:
            on_cpu = device == "cpu"
            packages.need(self.check, "affine", on_cpu)
            folder = pathlib.Path(self._stack.enter_context(
                tempfile.TemporaryDirectory()))
            (folder / "affine.py").write_text(AFFINE)
            self._packages[device] = packages.compile_module(
                self.check, kept, f"{folder / 'affine.py'}:Affine",
                ["x:FP32:-1,3"], "affine", on_cpu, MOST_ROWS, folder / "made",
                ["--output", "y"])
        return self._packages[device]


@dataclasses.dataclass
class Setting:
    """Where a check is made, and how much of it."""

    check: object
    kept: dict
    device: str
    size: Size
    tool: tuple

    def serving(self, models, loaded, flags=()):
        return Serving(self.check, self.kept, self.device, models, loaded,
                       self.size.bound_s, flags, self.tool)


class Compiled(Product):
    """The product as a package in that folder."""

    def __init__(self, name, folder):
        super().__init__(name)
        self.folder = folder

    def write(self, repository, _):
        shutil.copytree(self.folder, repository / self.name)


def bf16_below(value):
    """Returns a number that bf16 holds, at most that and above 0.99 of it."""
    unit = 1
    while value / unit >= 256:
        unit *= 2
    return float(int(value / unit) * unit)


def refuse(ask, what, code=None):
    """Raises Wrong unless it is refused, and with that code."""
    try:
        ask()
    except client.Refused as refused:
        if code is not None and refused.code != code:
            raise Wrong(f"expected code {code} of {what}, got "
                        f"{refused}") from None
        return
    raise Wrong(f"expected {what} to be refused, got an answer")


def read_slowly(serving, wide):
    """Takes a reply in pieces, while others are answered."""
    with serving.connect(window=0) as slow, serving.connect() as other:
        stream = slow.begin("ModelInfer", client.infer_message(
            wide.name, "x", wide.shape(), wide.row(3)))
        before = 0
        while not slow.has_ended(stream):
            slow.widen(stream, 1 << 17)
            wide.ask(other, seed=4)
            while not slow.has_ended(stream) and (
                    slow.received(stream) < before + (1 << 17)):
                slow.take_frame()
            before = slow.received(stream)
        (reply,) = client.contents(slow.finish(stream), 6)
        wide.require(reply, 3)


def leave_unread(serving, wide, load):
    """Clients whose replies past the bound are dropped; another reads."""
    dropped = serving.metric("ferry_replies_dropped_total")
    message = client.infer_message(wide.name, "x", wide.shape(), wide.row(5))
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(serving.connect(window=0))
                   for _ in range(SLOW_CLIENTS)]
        for _ in range(UNREAD):
            for one in clients:
                one.begin("ModelInfer", message)
        serving.await_that(
            lambda: serving.metric("ferry_replies_dropped_total") > dropped,
            "replies to be dropped that nobody reads, got none")
        serving.await_that(
            lambda: serving.metric("ferry_unsent_reply_bytes") <=
            UNSENT_MIB * MIB,
            lambda: f"at most {UNSENT_MIB} MiB of replies that nobody reads, "
            f"got {serving.metric('ferry_unsent_reply_bytes') / MIB:.1f}")
        serving.figure("unread MiB", round(serving.metric(
            "ferry_unsent_reply_bytes") / MIB, 1))
        with serving.connect() as reader:
            wide.ask(reader, seed=6)
        load.await_more()
    serving.await_that(
        lambda: serving.metric("ferry_unsent_reply_bytes") == 0,
        "no reply to wait for clients that are gone, got some")


TITLES = {
    "captures": "a capture that breaks, then another model",
    "random": "random numbers beside a capture",
    "cycles": "models that come and go",
    "memory": "more than the memory of the device",
    "together": "two models at once",
    "package": "a package in the process",
    "readers": "replies that clients do not read",
}


def run_all(checks, device, names, size=Size()):
    for name in TITLES:
        if name in names:
            checks.run(name, device, size)

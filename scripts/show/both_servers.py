"""Triton and Ferry beside each other, with the same models, each begun anew
where it does not survive what it was asked."""

import contextlib
import tempfile

from tritonclient.grpc import service_pb2 as pb

import answer_models
import asking
import measuring

MODES = ("explicit", "none")  # of model control


TRITON = measuring.ROOT / "scripts/tritonserver.sh"


class Server:
    """One server in one mode; `with` ends it."""

    def __init__(self, programs, name, mode, number):
        self.name = name
        self.mode = mode
        self._programs = programs
        self._number = number
        self._running = contextlib.ExitStack()
        self.refused = {}  # why a model could not be loaded, by model

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            self.folder = stack.enter_context(tempfile.TemporaryDirectory())
            address = measuring.address(self._number)
            self.asker = stack.enter_context(
                contextlib.closing(asking.Asker(address)))
            self.process = stack.enter_context(self._start(address))
            self._running = stack.pop_all()
        for model in answer_models.LATER if self.mode == "explicit" else ():
            answer = self.asker.ask(asking.Case(
                "a right load", "RepositoryModelLoad",
                pb.RepositoryModelLoadRequest(model_name=model)))
            if answer.code != "OK":
                self.refused[model] = self.masked(answer).message
        return self

    def __exit__(self, *_):
        self._running.close()

    def begin_anew(self):
        self.__exit__()
        self.__enter__()

    def masked(self, answer):
        """Returns the answer without what is this machine's."""
        text = answer.message.replace(self.folder, "<repository>")
        text = text.replace(str(measuring.ROOT), "<ferry>")
        return asking.Answer(answer.code, text)

    def _start(self, address):
        names = answer_models.ALL if self.mode == "explicit" else ("echo",)
        flags = ["--model-repository", self.folder, "--model-control-mode",
                 self.mode]
        if self.mode == "explicit":
            flags += [f"--load-model={name}" for name in answer_models.SERVED]
        if self.name == "ferry":
            answer_models.write_for_ferry(self.folder, names)
            return measuring.server(self._programs, *flags, model="echo",
                                    number=self._number)
        answer_models.write_for_triton(self.folder, names)
        host, port = address.split(":")
        return measuring.process(
            [TRITON, *flags, "--grpc-address", host, "--grpc-port", port,
             "--allow-http", "false", "--allow-metrics", "false",
             "--exit-timeout-secs", 2, "--disable-auto-complete-config"],
            self.asker.is_ready)


@contextlib.contextmanager
def serve(programs):
    """Runs both servers in both modes: {name: {mode: Server}}."""
    measuring.run([TRITON, "--fetch"])
    with contextlib.ExitStack() as stack:
        running = {}
        for number, (name, mode) in enumerate(
                (name, mode) for name in ("triton", "ferry") for mode in MODES):
            running.setdefault(name, {})[mode] = stack.enter_context(
                Server(programs, name, mode, number))
        yield running

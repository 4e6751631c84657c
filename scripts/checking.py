"""What the scripts that check packages and images share: commands that must not
fail, and waits. Their messages begin with the script's name."""

import contextlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "tests" / "e2e"))
import ferry_process  # pylint: disable=wrong-import-position

PYTHON = ROOT / ".venv" / "bin" / "python"
NAME = pathlib.Path(sys.argv[0]).stem
TIMEOUT_S = 60
# What a client sees of the bundle's two models.
ASK = """
import sys
import numpy
import tritonclient.grpc as triton
client = triton.InferenceServerClient(f"127.0.0.1:{sys.argv[1]}")
for model in ("linear", "sim"):
    about = client.get_model_metadata(model).inputs[0]
    rows = numpy.ones([2, *map(int, about.shape[1:])], numpy.float32)
    tensor = triton.InferInput(about.name, rows.shape, about.datatype)
    tensor.set_data_from_numpy(rows)
    answer = client.infer(model, [tensor]).get_response()
    print(f"{model} answers", *answer.outputs[0].shape)
"""


def fail(text):
    sys.exit(f"{NAME}: error: {text}")


def say(text):
    print(f"{NAME}: {text}", flush=True)


def run(*command, **options):
    """Returns what it prints; ends the script where it fails."""
    done = subprocess.run([str(word) for word in command], text=True, check=False,
                          capture_output=True, **options)
    if done.returncode != 0:
        fail(f"{' '.join(map(str, command))}: exit code {done.returncode}\n"
             f"{done.stdout}{done.stderr}")
    return done.stdout.strip()


def wait_until(what, condition, timeout=TIMEOUT_S):
    if not ferry_process.wait_until(condition, timeout):
        fail(f"expected within {timeout} s: {what}")


def check_here(tools, packages, check):
    """Calls `check` with a folder of its own, as root, where these tools are."""
    missing = [tool for tool in tools if not shutil.which(tool)]
    if missing:
        fail(f"no {', '.join(missing)}; apt-get install --no-install-recommends "
             f"{packages}")
    if os.geteuid() != 0 or not PYTHON.exists():
        fail("needs root, and .venv of scripts/setup.sh")
    work = pathlib.Path(tempfile.mkdtemp(prefix=f"ferry-{NAME}.", dir="/var/tmp"))
    try:
        check(work)
    finally:
        shutil.rmtree(work, ignore_errors=True)


@contextlib.contextmanager
def started(command, log, **options):
    with open(log, "wb") as file:
        child = subprocess.Popen([str(word) for word in command], stdout=file,
                                 stderr=file, stdin=subprocess.DEVNULL, **options)
    try:
        yield child
    finally:
        child.kill()
        child.wait()

"""profile: instructions a request, by stage, counted by callgrind.

Wall time on a machine that others share says little of a few hundred
instructions; their number is the same everywhere. What the kernel does is not
in it.
"""

import json
import os
import re
import shutil
import subprocess
import tempfile

import measuring
import wire

OUTSTANDING = 64
STAGES = [  # what is said of it, and the function whose callees count
    ("gRPC: wait for events, read, write", "grpc::CompletionQueue::AsyncNextInternal"),
    ("gRPC: ask for the next call", "ferry::InferQueue::PostNext"),
    ("decode", "ferry::InferCall::Start"),
    ("of it: admission", "ferry::Scheduler::Submit"),
    ("pull the next batch", "ferry::Scheduler::NextBatch"),
    ("run it", "ferry::CpuInstance::RunBatch"),
    ("of it: gather", "ferry::GatherRows"),
    ("its end, for the scheduler", "ferry::Scheduler::Finished"),
    ("deliver its replies", "ferry::Deliver"),
    ("encode the reply", "ferry::EncodeInferResponse"),
    ("gRPC: take the reply and write it", "ferry::GrpcInferCall::SendReply"),
    ("end of the call, most of it gRPC's", "ferry::GrpcInferCall::OnEnd"),
]


def require_valgrind():
    if shutil.which("valgrind") is None:
        raise measuring.Failure("valgrind is not installed: apt-get install "
                                "valgrind")


def annotate(path):
    """Returns instructions with callees, by function without arguments."""
    text = measuring.run(["callgrind_annotate", "--inclusive=yes",
                          "--threshold=100", path])
    counts = {}
    for line in text.splitlines():
        found = re.match(r" *([0-9,]+) \([ 0-9.]+%\) +[^:]*:(.*)", line)
        if found:
            name = re.split(r"[(\[]", found.group(2))[0].strip()
            number = int(found.group(1).replace(",", ""))
            counts[name] = max(counts.get(name, 0), number)
        elif "PROGRAM TOTALS" in line:
            counts["all"] = int(line.split()[0].replace(",", ""))
    return counts


def under_callgrind(programs, folder, path):
    """Returns the programs, the servers among them run by callgrind, which
    writes to `path`."""
    os.makedirs(folder)
    shutil.copy(programs.path("ferry-bench"), folder)
    for name in ("ferry-server", "grpc-echo"):
        script = f"{folder}/{name}"
        with open(script, "w", encoding="utf-8") as stream:
            stream.write(
                "#!/bin/sh\nexec valgrind --tool=callgrind --instr-atstart=no "
                f"--callgrind-out-file={path} {programs.path(name)} \"$@\"\n")
        os.chmod(script, 0o755)
    return measuring.Programs(folder)


def count(options, running, path, seconds, client=()):
    """Returns instructions a request by function. `client`: more flags of the
    client."""
    def load(duration):
        return measuring.run(
            [options.programs.path("ferry-bench"), "run", "-u",
             measuring.ADDRESS, "-m", "echo", "--outstanding", OUTSTANDING,
             "--duration-secs", duration, "--warm-up-secs", 0, "--json",
             f"{path}.json", *client])

    with running as process:
        load(2)
        subprocess.run(["callgrind_control", "-i", "on", str(process.pid)],
                       check=True, capture_output=True)
        load(seconds)
        subprocess.run(["callgrind_control", "-i", "off", str(process.pid)],
                       check=True, capture_output=True)
    with open(f"{path}.json", encoding="utf-8") as stream:
        point = json.load(stream)["runs"][0]["points"][0]
    requests = point["achieved_rate"] * seconds
    return {name: number / requests
            for name, number in annotate(path).items()}


def measure(options):
    require_valgrind()
    result = measuring.describe(
        "profile", "instructions a request, user space, of the echo backend "
        f"(1 KiB each way, {OUTSTANDING} outstanding) and of grpc-echo, counted "
        "by callgrind", options.command)
    seconds = options.seconds or 8
    with tempfile.TemporaryDirectory() as folder, wire.repository() as models:
        path = f"{folder}/counts"
        programs = under_callgrind(options.programs, f"{folder}/bin", path)
        ferry = count(options, measuring.server(
            programs, "--model-repository", models, model="echo"),
            path, seconds)
        width, answer, _ = wire.MODELS["echo"]
        echo = count(options, measuring.echo(
            programs, "--model", "echo", "--input-elements", width,
            "--output-elements", answer, model="echo"), path, seconds)
    stages = [[label, ferry.get(name)] for label, name in STAGES]
    result |= {"ferry": ferry["all"], "grpc_echo": echo["all"],
               "stages": dict(stages), "ratio": ferry["all"] / echo["all"],
               "verdict": "counted", "passed": None}
    page = (f"All: {ferry['all']:.0f} instructions a request; grpc-echo "
            f"{echo['all']:.0f}, {result['ratio']:.3f} of it. By stage, with all "
            "that each calls:\n\n")
    page += measuring.table(
        ["stage", "instructions"],
        [[label, f"{number:.0f}" if number else "-"]
         for label, number in stages])
    return result, page

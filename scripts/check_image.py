#!/usr/bin/env python3
"""Shows that the image of scripts/image.sh is whole and serves.

  scripts/check_image.py [IMAGE.tar]

IMAGE is the newest in dist/ where none is given. A registry takes it and gives the
same back. LibTorch is a layer of its own, and no layer has a shell or a package
manager; then a container of it answers a client, twice: run by buildah, in a chroot,
and by runc, with a read-only root and namespaces of its own, each as a user that is
not root. A container of ferry-batch computes a file by a server that this starts,
build/release/bin/ferry-server or $FERRY_SERVER.

Needs root, .venv (scripts/setup.sh), and of Debian: buildah, skopeo, runc and
docker-registry, which listens on loopback while this runs. Exits 1 with what was
expected and found.
"""

import filecmp
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tarfile

from checking import (ASK, PYTHON, ROOT, TIMEOUT_S, check_here, fail, run, say,
                      started, wait_until)
import ferry_process

TOOLS = ("buildah", "skopeo", "runc", "docker-registry", "nsenter")
USER = 65532
PROGRAM = "/opt/ferry/libexec/ferry-server"
TORCH = "/opt/torch/lib/libtorch_cpu.so"
# By which an image would run commands, or take more in.
TOOLS_WITHIN = re.compile("/(usr/)?s?bin/(sh|dash|bash|busybox|apt|apt-get|dpkg)")
SERVER, BATCH = [PROGRAM], ["python3", "-m", "ferry_batch"]
FLAGS = ["--model-repository=/opt/ferry/models", "--grpc-address=127.0.0.1"]


def check_registry(image, work):
    """Sends the image to a registry and compares what it gives back."""
    port = ferry_process.free_port()
    config = work / "registry.yml"
    config.write_text(json.dumps({
        "version": "0.1", "log": {"level": "warn"},
        "storage": {"filesystem": {"rootdirectory": str(work / "registry")}},
        "http": {"addr": f"127.0.0.1:{port}"}}))
    there = f"docker://127.0.0.1:{port}/ferry:check"
    sent, got = work / "sent", work / "got"
    copy = ("skopeo", "--insecure-policy", "copy", "--quiet")
    with started(["docker-registry", "serve", config], work / "registry.log"):
        wait_until("a registry", lambda: ferry_process.accepts(port))
        run(*copy, f"docker-archive:{image}", f"oci:{sent}:ferry")
        run(*copy, "--dest-tls-verify=false", f"oci:{sent}:ferry", there)
        run(*copy, "--src-tls-verify=false", there, f"oci:{got}:ferry")
    blobs = sorted(path.name for path in (sent / "blobs/sha256").iterdir())
    _, differ, missing = filecmp.cmpfiles(sent / "blobs/sha256",
                                          got / "blobs/sha256", blobs, shallow=False)
    if differ or missing:
        fail(f"a registry gave back other blobs: {differ + missing}")
    say(f"a registry gives back the same {len(blobs)} blobs")


def check_layers(image, has_server):
    """No shell is in any; LibTorch has one, where a server is in the image."""
    layers = []
    with tarfile.open(image) as archive:
        for name in json.load(archive.extractfile("manifest.json"))[0]["Layers"]:
            with tarfile.open(fileobj=archive.extractfile(name)) as layer:
                layers.append({"/" + member.name.removeprefix("./").rstrip("/")
                               for member in layer if not member.isdir()})
    tools = sorted(path for files in layers for path in files
                   if TOOLS_WITHIN.fullmatch(path))
    if tools:
        fail(f"expected no shell and no package manager, got {tools}")
    say(f"none of {len(layers)} layers has a shell or a package manager")
    if not has_server:
        return
    of_torch = [files for files in layers if TORCH in files]
    others = [path for files in of_torch for path in files
              if not path.startswith("/opt/torch/")]
    if len(of_torch) != 1 or others or not any(PROGRAM in files for files in layers):
        fail(f"expected {TORCH} in one layer, with nothing but torch, and {PROGRAM} in "
             f"another, got {len(of_torch)} of {len(layers)} layers, with "
             f"{sorted(others)[:5]}")
    say("LibTorch is a layer of its own")


def server_below(pid):
    """Returns the process of the server that another has started, or None."""
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            status = dict(line.split(":\t", 1) for line in
                          (folder / "status").read_text().splitlines()
                          if ":\t" in line)
            parent = int(status["PPid"])
        except (OSError, KeyError, ValueError):
            continue  # it has ended
        if status["Name"] == "ferry-server" and pid in ancestors(parent):
            return int(folder.name), int(status["Uid"].split()[0])
    return None


def ancestors(pid):
    """Yields a process, its parent, and so on."""
    while pid > 1:
        yield pid
        try:
            text = pathlib.Path(f"/proc/{pid}/status").read_text()
        except OSError:
            return
        pid = int(text.split("PPid:\t")[1].split()[0])


def check_container(label, command, log, ports):
    """Runs a container, asks it within its network, and ends its server."""
    grpc, http = ports
    with started(command, log) as child:
        def has_server():
            if child.poll() is not None:
                fail(f"{label} ended with {child.returncode}:\n{log.read_text()}")
            return server_below(child.pid)

        wait_until("a server", has_server)
        pid, user = server_below(child.pid)
        if user != USER:
            fail(f"{label}: expected a server of the user {USER}, got {user}")
        inside = ["nsenter", "--target", pid, "--net", "--"]
        ready = [PYTHON, "-c", f"""import urllib.request
urllib.request.urlopen("http://127.0.0.1:{http}/v2/health/ready")"""]
        try:
            wait_until(f"{label} that is ready", lambda: (
                has_server() and subprocess.run(
                    [str(word) for word in inside + ready], check=False,
                    capture_output=True).returncode == 0))
            for line in run(*inside, PYTHON, "-c", ASK, grpc).splitlines():
                say(f"  {line}")
            os.kill(pid, signal.SIGTERM)
            code = child.wait(TIMEOUT_S)
        finally:
            # What a failure leaves; the end of the child alone would not end it.
            left = server_below(child.pid)
            if left is not None:
                os.kill(left[0], signal.SIGKILL)
                child.wait(TIMEOUT_S)
    if code != 0:
        fail(f"{label}: expected exit code 0 after SIGTERM, got {code}:\n"
             f"{log.read_text()}")
    say(f"{label} serves as the user {USER}, and ends")


def write_spec(folder, root, arguments, environment):
    """Writes what runc runs: no capability, a read-only root, no network."""
    run("runc", "spec", cwd=folder)
    path = folder / "config.json"
    spec = json.loads(path.read_text())
    spec["root"] = {"path": str(root), "readonly": True}
    spec["process"].update({
        "terminal": False, "user": {"uid": USER, "gid": USER}, "args": arguments,
        "env": environment, "noNewPrivileges": True,
        "capabilities": {kind: [] for kind in ("bounding", "effective", "permitted",
                                               "inheritable", "ambient")},
        "rlimits": []})
    spec["mounts"].append({"destination": "/tmp", "type": "tmpfs", "source": "tmpfs",
                           "options": ["nosuid", "nodev", "mode=1777"]})
    path.write_text(json.dumps(spec))


def check_batch(buildah, container, work):
    rows = work / "rows"
    rows.mkdir()
    rows.chmod(0o777)
    (rows / "rows.jsonl").write_text(json.dumps({"input": [1.0] * 16}) + "\n")
    with ferry_process.FerryProcess(models=["sim"]) as server:
        run(*buildah, "run", "--isolation", "chroot", "--volume", f"{rows}:/rows",
            container, "--", *BATCH, "/rows/rows.jsonl",
            "--output", "/rows/out", "-m", "sim", "-u", server.address)
    (written,) = (rows / "out").glob("part-*.jsonl")
    if json.loads(written.read_text())["output"] != [1.0] * 16:
        fail(f"expected the row that was given, got {written.read_text()}")
    if written.stat().st_uid != USER:
        fail(f"expected a file of the user {USER}, got one of {written.stat().st_uid}")
    say(f"buildah's container of ferry-batch computes as the user {USER}")


def check(image, work):
    check_registry(image, work)
    buildah = ["buildah", "--root", work / "storage", "--runroot", work / "run"]
    container = run(*buildah, "from", f"docker-archive:{image}")
    config = json.loads(run(*buildah, "inspect", container))["OCIv1"]["config"]
    if (config["Entrypoint"] not in (SERVER, BATCH) or
            config["User"] != f"{USER}:{USER}"):
        fail(f"expected {SERVER} or {BATCH} of the user {USER}:{USER}, got {config}")
    check_layers(image, config["Entrypoint"] == SERVER)
    if config["Entrypoint"] == BATCH:
        check_batch(buildah, container, work)
        return

    ports = ferry_process.free_port(), ferry_process.free_port()
    flags = [*FLAGS, f"--grpc-port={ports[0]}", f"--metrics-port={ports[1]}"]
    check_container("buildah's container",
                    [*buildah, "run", "--isolation", "chroot", container, "--",
                     PROGRAM, *flags], work / "chroot.log", ports)
    folder = work / "bundle"
    folder.mkdir()
    root = run(*buildah, "mount", container)
    try:
        about = pathlib.Path(root, "opt/ferry/BUNDLE.txt").read_text()
        say(f"in it is {about.splitlines()[0]}")
        write_spec(folder, root, [PROGRAM, *flags], config["Env"])
        name = f"ferry-check-{os.getpid()}"
        check_container("runc's container",
                        ["runc", "--root", work / "runc", "run", "--bundle", folder,
                         name], work / "runc.log", ports)
    finally:
        run(*buildah, "umount", container)


def main():
    if sys.argv[1:2] == ["--help"]:
        print(__doc__.strip())
        return
    images = sys.argv[1:] or sorted((ROOT / "dist").glob("ferry-*-image.tar"),
                                    key=lambda path: path.stat().st_mtime)[-1:]
    if not images or not pathlib.Path(images[0]).exists():
        fail("no image; scripts/image.sh makes one")
    image = pathlib.Path(images[0]).resolve()
    check_here(TOOLS, "buildah skopeo runc docker-registry util-linux",
               lambda work: check(image, work))


if __name__ == "__main__":
    main()

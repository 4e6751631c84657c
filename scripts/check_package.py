#!/usr/bin/env python3
"""Shows that Ferry's deb and tarball serve, are upgraded, and go again.

  scripts/check_package.py [--bin DIR]

Makes both of the build tree DIR (build/release) by CPack, twice, the second time with
a later version; boots a bare Debian 12 with systemd in a container of systemd-nspawn,
and there installs the deb, with what it needs of Debian's packages. Checked are:

  start     the unit is active once models are loaded and warm, not before
  watchdog  a server that stops turning is ended and started again
  upgrade   a server under load answers all of it, and goes on until it is restarted
  timers    the servers sleep and wake by the clock
  stop      where the machine goes down, servers drain before its network ends
  boot      what is enabled serves again
  notice    servers drain once the cloud says that it takes the machine back
  purge     no file of the package is left, and all files of the operator's
  tarball   where the deb is not, but its libraries are, it serves from a folder, and
            the later one from another; nothing is left

Needs root, .venv (scripts/setup.sh), network, and of Debian: mmdebstrap and
systemd-container. All is gone when the script ends. Exits 1 with what was expected
and found.
"""

import argparse
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

from checking import (ASK, PYTHON, ROOT, check_here, fail, run, say, started,
                      wait_until)
import ferry_process

sys.path.append(str(ROOT / "tests" / "deploy"))
import notice_test  # pylint: disable=wrong-import-position

TOOLS = ("mmdebstrap", "systemd-nspawn", "nsenter", "cpack", "dpkg-shlibdeps")
UNIT = "ferry@slice-0"
NOTICE = "ferry-notice.service"
UNPACKED = "ferry-unpacked"  # the unit of a tarball's server
# What dpkg, apt, systemd and the journal write, and what is no disk.
IGNORED = re.compile(r"/(dev|proc|run|sys|tmp|root|site)(/|$)|"
                     r"/var/(cache|lib/(apt|dpkg|systemd|private)|log|tmp)(/|$)|"
                     r"/etc/(ld\.so\.cache|machine-id|\.updated|apt/)|"
                     r"/var/\.updated|\.dpkg-")
# What the operator writes; purging leaves it.
ENVIRONMENT = "/etc/ferry/slice-0.env"
MODELS = "/var/lib/ferry/models"
WATCHDOG_S = 30
# Asks one after the other until one fails, and says what was told.
ASK_ON = """
import sys
import numpy
import tritonclient.grpc as triton
client = triton.InferenceServerClient(f"127.0.0.1:{sys.argv[1]}")
tensor = triton.InferInput("input", [1, 16], "FP32")
tensor.set_data_from_numpy(numpy.ones([1, 16], numpy.float32))
answers = 0
try:
    while True:
        client.infer("sim", [tensor])
        answers += 1
        if answers == 1:
            print("answers", flush=True)
except triton.InferenceServerException as error:
    print(f"{answers} answers, then {error.status().split('.')[-1]}")
"""
LOAD_S = 60


def make_packages(build, work):
    """Returns the debs of this version and of the next one, and the tarballs."""
    version = re.search(r"^project\(Ferry VERSION (\S+)",
                        (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE).group(1)
    first, *rest = version.split(".")
    later = ".".join([first, *rest[:-1], str(int(rest[-1]) + 1)])
    numbers = version, later
    for number in numbers:
        run("cpack", "--config", build / "CPackConfig.cmake", "-G", "DEB;TGZ", "-R",
            number, "-B", work / "packages")
    debs, tarballs = ([work / "packages" / name.format(number) for number in numbers]
                      for name in ("ferry_{}_amd64.deb", "ferry-{}-Linux.tar.gz"))
    for path in (*debs, *tarballs):
        if not path.exists():
            fail(f"expected {path.name}, got {sorted((work / 'packages').iterdir())}")
        say(f"{path.name}: {path.stat().st_size >> 10} KiB")
    say("  needs " + run("dpkg-deb", "--field", debs[0], "Depends"))
    return debs, tarballs


def write_models(build, folder):
    scripts = folder.parent / "scripts"
    scripts.mkdir()
    run(build / "tests" / "write_scripts", scripts)
    for name in ("linear", "sim"):
        (folder / name / "1").mkdir(parents=True)
    shutil.copy(scripts / "linear.pt", folder / "linear" / "1" / "model.pt")
    shutil.copy(ROOT / "deploy/bundle/sim.pbtxt", folder / "sim" / "config.pbtxt")


class Machine:
    """A Debian that systemd has booted in a container, on the host's network."""

    def __init__(self, root, log, torch):
        self.root = root
        command = ["systemd-nspawn", f"--directory={root}", "--boot", "--register=no",
                   "--keep-unit", "--console=pipe", f"--bind-ro={torch}:/site",
                   "--resolv-conf=copy-host", "--timezone=off"]
        self.started = started(command, log)
        self.process = self.started.__enter__()
        self.first = None
        wait_until("a systemd in the container", self.has_booted)

    def has_booted(self):
        if self.process.poll() is not None:
            fail(f"systemd-nspawn ended with {self.process.returncode}")
        found = subprocess.run(["pgrep", "-P", str(self.process.pid)], text=True,
                               capture_output=True, check=False).stdout.split()
        if not found:
            return False
        self.first = found[0]
        state = self.ask("systemctl is-system-running").stdout.strip()
        return state in ("running", "degraded")

    def ask(self, line, **options):
        """Returns the end of a command line of its shell."""
        return subprocess.run(
            ["nsenter", "--target", self.first, "--all", "--", "/usr/bin/env", "-i",
             "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LANG=C.UTF-8",
             "DEBIAN_FRONTEND=noninteractive", "/bin/sh", "-c", line], text=True,
            check=False, capture_output=True, **options)

    def run(self, line):
        done = self.ask(line)
        if done.returncode != 0:
            fail(f"in the container: {line}: exit code {done.returncode}\n"
                 f"{done.stdout}{done.stderr}\n{self.journal()}")
        return done.stdout.strip()

    def journal(self):
        return self.ask("journalctl --no-pager --lines=30 --unit='ferry*'").stdout

    def show(self, name, unit=UNIT):
        return self.run(f"systemctl show --property={name} --value {unit}")

    def wait_until(self, what, condition, timeout=60):
        if not ferry_process.wait_until(condition, timeout):
            fail(f"expected within {timeout} s: {what}\n{self.journal()}")

    def power_off(self):
        self.ask("systemctl poweroff")
        self.process.wait(120)
        self.end()

    def end(self):
        self.started.__exit__(None, None, None)


def files_of(root):
    """Returns the files of a system, without those that change by themselves."""
    found = set()
    for folder, folders, files in os.walk(root):
        inside = "/" + os.path.relpath(folder, root).removeprefix(".")
        folders[:] = [name for name in folders
                      if not IGNORED.search(os.path.join(inside, name))]
        for name in (*folders, *files):
            path = os.path.join(inside, name)
            if not IGNORED.search(path):
                found.add(path)
    return found


def ask_models(port):
    for line in run(PYTHON, "-c", ASK, port).splitlines():
        say(f"  {line}")


def is_ready(port):
    done = subprocess.run(
        ["curl", "--silent", "--fail", "--max-time", "5",
         f"http://127.0.0.1:{port}/v2/health/ready"], check=False,
        capture_output=True)
    return done.returncode == 0


def check_start(machine, ports):
    began = machine.run("date +%s%N")
    machine.run(f"systemctl enable --now {UNIT} ferry.target")
    machine.wait_until("an active unit", lambda: machine.show("ActiveState") ==
                       "active")
    if not is_ready(ports[1]):
        fail(f"expected a server that is ready once its unit is active\n"
             f"{machine.journal()}")
    ended = machine.run("date +%s%N")
    status, kind = machine.show("StatusText"), machine.show("Type")
    if (status, kind) != ("ready", "notify"):
        fail(f"expected a unit that tells it is ready, got {kind}, '{status}'")
    user = machine.run(f"stat --format=%u /proc/{machine.show('MainPID')}")
    if user == "0":
        fail("the server runs as root")
    ask_models(ports[0])
    say(f"start: active once it is ready, after "
        f"{(int(ended) - int(began)) / 1e9:.1f} s, as the user {user}")


def check_watchdog(machine, ports):
    before = machine.show("MainPID")
    machine.run(f"kill -STOP {before}")
    machine.wait_until("a server that has stopped turning is started again",
                       lambda: machine.show("MainPID") not in (before, "0") and
                       machine.show("ActiveState") == "active", WATCHDOG_S + 60)
    said = machine.run(f"journalctl --no-pager --unit={UNIT}")
    for expected in ("Watchdog timeout", "result 'watchdog'"):
        if expected not in said:
            fail(f"expected '{expected}' in the journal:\n{said[-4000:]}")
    ask_models(ports[0])
    say("watchdog: a server that was stopped was ended and started again")


def check_upgrade(machine, deb, ports):
    before = machine.show("MainPID")
    load = f"""/opt/ferry/bin/ferry-bench run -u 127.0.0.1:{ports[0]} -m sim \
--outstanding 8 --warm-up-secs 0 --duration-secs {LOAD_S} --fail-if 'errors>0%' """
    with subprocess.Popen(
            ["nsenter", "--target", machine.first, "--all", "--", "/bin/sh", "-c",
             load], text=True, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT) as bench:
        said = machine.run(f"apt-get install --yes /packages/{deb.name} 2>&1")
        if bench.poll() is not None:
            fail("the load ended before the upgrade")
        after = machine.show("MainPID")
        output, _ = bench.communicate(timeout=LOAD_S + 60)
    if bench.returncode != 0:
        fail(f"expected no error of a server that is upgraded:\n{output}")
    if before != after or "the servers that run are still those" not in said:
        fail(f"expected a server that runs on, and words of it, got the process "
             f"{after} after {before}:\n{said}")
    machine.run(f"systemctl restart {UNIT}")
    ask_models(ports[0])
    say("upgrade: all of a load was answered; the next start has the new files")


def check_timers(machine, ports):
    for timer, state, seen in (("ferry-sleep", "inactive", False),
                               ("ferry-wake", "active", True)):
        folder = f"/run/systemd/system/{timer}.timer.d"
        machine.run(f"mkdir -p {folder} && printf '[Timer]\\nOnCalendar=\\n"
                    f"OnActiveSec=1s\\nAccuracySec=100ms\\n' >{folder}/soon.conf && "
                    f"systemctl daemon-reload && systemctl start {timer}.timer")
        machine.wait_until(f"{timer}.timer: a unit that is {state}", lambda: (
            machine.show("ActiveState") == state and is_ready(ports[1]) == seen))
        machine.run(f"systemctl stop {timer}.timer")
    if machine.show("Result") != "success":
        fail(f"expected servers that sleep to end well\n{machine.journal()}")
    say("timers: the servers sleep and wake")


def check_notice(machine, ports):
    """Has a service like AWS's tell the unit that the machine goes; then starts all
    again, which asks the same service."""
    machine.run("apt-get install --yes --no-install-recommends python3 2>&1")
    service = notice_test.Service(notice_test.AwsHandler)
    folder = f"/run/systemd/system/{NOTICE}.d"
    machine.run("echo FERRY_CLOUD=aws >/etc/ferry/notice.env && "
                f"mkdir -p {folder} && (echo '[Service]\nExecStart=' && "
                f"sed -n 's|--cloud=|--url={service.url} &|p' "
                f"/usr/lib/systemd/system/{NOTICE}) >{folder}/url.conf && "
                f"systemctl daemon-reload && systemctl start {NOTICE}")
    machine.wait_until("a question of the unit", lambda: service.asked)
    life = machine.show("InvocationID")
    if not is_ready(ports[1]):
        fail(f"expected a server that is ready before a notice\n{machine.journal()}")
    service.tell(notice_test.NOTICE)
    units = (UNIT, NOTICE)
    machine.wait_until("server and notice are inactive after it", lambda: (
        {machine.show("ActiveState", unit) for unit in units} == {"inactive"}))
    if ({machine.show("Result", unit) for unit in units} != {"success"} or
            "drains signal=TERM" not in machine.run(
                f"journalctl --no-pager _SYSTEMD_INVOCATION_ID={life}")):
        fail(f"expected a server that drains and ends well\n{machine.journal()}")
    service.tell(None)
    machine.run(f"systemctl enable --now {UNIT} {NOTICE}")
    say("notice: the server drained when the cloud told that the machine goes")


def check_stop(machine, ports):
    """Ends the machine, with requests under way, and reads what it wrote."""
    machine.run(f"systemctl start {UNIT}")
    with subprocess.Popen([str(PYTHON), "-c", ASK_ON, str(ports[0])], text=True,
                          stdout=subprocess.PIPE) as client:
        client.stdout.readline()  # one is answered
        machine.power_off()
        told, _ = client.communicate(timeout=60)
    if not re.fullmatch(r"\d+ answers, then UNAVAILABLE\n", told):
        fail(f"expected answers, and UNAVAILABLE once the server is gone, got {told}")
    said = run("journalctl", "--no-pager", "--output=cat",
               f"--directory={machine.root}/var/log/journal").splitlines()

    def last(text):
        found = [i for i, line in enumerate(said) if text in line]
        if not found:
            fail(f"expected '{text}' in the journal:\n" + "\n".join(said[-60:]))
        return found[-1]

    order = [last("drains signal=TERM"), last(" info stopped"),
             last("ferry@slice-0.service: Deactivated successfully"),
             last("Stopped target network-online.target")]
    if order != sorted(order):
        fail(f"expected a drain before the network's end, got lines {order}:\n" +
             "\n".join(said[-60:]))
    say(f"stop: the server drained before the network's end: {told.strip()}")


def check_purge(machine, before):
    machine.run("apt-get purge --yes ferry 2>&1")
    left = files_of(machine.root) - before
    kept = {path for path in left if path.startswith(("/etc/ferry", "/var/lib/ferry"))}
    wrong = {path for path in left - kept if "ferry" in path}
    if wrong or ENVIRONMENT not in kept or f"{MODELS}/sim/config.pbtxt" not in kept:
        fail(f"expected the operator's files and no others, got {sorted(wrong)} and "
             f"{sorted(kept)}")
    for unit in (UNIT, NOTICE):
        state = machine.show("LoadState", unit), machine.show("ActiveState", unit)
        if state != ("not-found", "inactive"):
            fail(f"expected no {unit} after the purge, got one that is {state}")
    say(f"purge: nothing is left but {len(kept)} files and folders of the operator")


def check_tarballs(machine, deb, tarballs, ports):
    """Serves from the one, then from the later one, which is unpacked meanwhile."""
    libraries = re.findall(r"(?:^|, )([^ ,]+)",
                           run("dpkg-deb", "--field", deb, "Depends"))
    machine.run("apt-get autoremove --purge --yes 2>&1 && apt-get install --yes "
                f"--no-install-recommends {' '.join(libraries)} 2>&1")
    before = files_of(machine.root)
    machine.run("mkdir /unpacked")

    def unpack(tarball):
        machine.run(f"tar -xzf /packages/{tarball.name} -C /unpacked")

    unpack(tarballs[0])
    for tarball in tarballs:
        program = f"/unpacked/{tarball.name.removesuffix('.tar.gz')}/bin/ferry-server"
        machine.run(f"systemd-run --unit={UNPACKED} --remain-after-exit "
                    f"--property=DynamicUser=yes {program} --torch /site/torch "
                    f"--model-repository={MODELS} --grpc-port={ports[0]} "
                    f"--metrics-port={ports[1]} 2>&1")
        machine.wait_until("a tarball's server is ready", lambda: is_ready(ports[1]))
        unpack(tarballs[1])
        ask_models(ports[0])
        machine.run(f"systemctl kill --signal=TERM {UNPACKED}")
        machine.wait_until("it ends with 0 after SIGTERM", lambda: (
            machine.show("SubState", UNPACKED) == "exited"))
        machine.run(f"systemctl stop {UNPACKED}")
    machine.run("rm -r /unpacked")
    left = files_of(machine.root) - before
    if left:
        fail(f"expected nothing outside the tarballs' folder, got {sorted(left)}")
    say("tarball: its server serves and ends, the later one's beside it, too")


def make_root(work):
    """Makes a bare Debian with systemd, as scripts/lib.sh does."""
    run("bash", "-c", f"""source scripts/lib.sh
make_root 'making a bare Debian 12 with systemd' {shlex.quote(str(work / 'root'))} \
--variant=minbase --include=systemd,systemd-sysv,dbus""", cwd=ROOT)
    return work / "root"


def install(machine, deb, ports):
    machine.run("apt-get update 2>&1")
    machine.run("apt-get install --yes --no-install-recommends "
                f"/packages/{deb.name} 2>&1")
    version = machine.run("/opt/ferry/bin/ferry-server --version")
    text = machine.run("cat /opt/ferry/share/ferry/slice.env")
    for name, value in (("DEVICE", "cpu"), ("GRPC_PORT", ports[0]),
                        ("METRICS_PORT", ports[1]), ("TORCH", "/site/torch"),
                        ("DRAIN_DELAY_SECS", 1)):
        text, count = re.subn(rf"^FERRY_{name}=.*$", f"FERRY_{name}={value}", text,
                              flags=re.MULTILINE)
        if count != 1:
            fail(f"expected FERRY_{name} in slice.env once, got it {count} times")
    (machine.root / ENVIRONMENT[1:]).write_text(text)
    shutil.copytree(machine.root.parent / "models", machine.root / MODELS[1:],
                    dirs_exist_ok=True)
    say(f"installed: {version}")


def check(build, work):
    debs, tarballs = make_packages(build, work)
    write_models(build, work / "models")
    say("making a bare Debian 12 with systemd")
    root = make_root(work)
    shutil.copytree(work / "packages", root / "packages",
                    ignore=lambda folder, names: [name for name in names
                                                  if name.startswith("_")])
    torch = next((ROOT / ".venv" / "lib").glob("python3*/site-packages"))
    ports = ferry_process.free_port(), ferry_process.free_port()
    machine = Machine(root, work / "console.log", torch)
    try:
        before = files_of(root)
        install(machine, debs[0], ports)
        check_start(machine, ports)
        check_watchdog(machine, ports)
        check_upgrade(machine, debs[1], ports)
        check_timers(machine, ports)
        check_stop(machine, ports)
        machine = Machine(root, work / "console.log", torch)
        machine.wait_until("what is enabled serves after a boot",
                           lambda: machine.show("ActiveState") == "active")
        ask_models(ports[0])
        say("boot: what is enabled serves again")
        check_notice(machine, ports)
        check_purge(machine, before)
        check_tarballs(machine, debs[0], tarballs, ports)
        machine.power_off()
    finally:
        machine.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/release",
                        metavar="DIR", help="the build tree")
    build = parser.parse_args().bin.resolve()
    for path in ("CPackConfig.cmake", "bin/ferry-server", "tests/write_scripts"):
        if not (build / path).exists():
            fail(f"no {path} in {build}; scripts/build.sh makes it")
    check_here(TOOLS, "mmdebstrap systemd-container util-linux cmake dpkg-dev",
               lambda work: check(build, work))


if __name__ == "__main__":
    sys.exit(main())

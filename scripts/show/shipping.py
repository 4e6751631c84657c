"""shipped: the images in dist/ pass scripts/check_image.py, and the deb and the tarball
of the build scripts/check_package.py.
"""

import os
import re
import subprocess

import measuring

# Debian's packages that do the work.
TOOLS = ("buildah", "runc", "skopeo", "docker-registry", "mmdebstrap",
         "systemd-container")


def newest_image(kind):
    """Returns the newest of scripts/image.sh: "ferry" or "ferry-batch"."""
    made = (measuring.ROOT / "dist").glob(f"{kind}-[0-9]*-image.tar")
    newest = max(made, default=None, key=lambda path: path.stat().st_mtime)
    if newest is None:
        raise measuring.Failure(f"no image of {kind} in dist/; scripts/image.sh makes "
                                "one")
    return newest


def check(script, *arguments, **environment):
    """Returns the end of a script, and what it said, but for sizes."""
    measuring.say(" ".join([script, *map(str, arguments)]))
    done = subprocess.run(
        [measuring.ROOT / "scripts" / script, *arguments], text=True, check=False,
        capture_output=True, env=os.environ | environment)
    said = re.sub(r"^\w+: |: \d+ KiB$", "", done.stdout + done.stderr,
                  flags=re.MULTILINE)
    return {"exit_code": done.returncode, "said": said.splitlines()}


def measure(options):
    result = measuring.describe(
        "shipped", "the image goes through a registry and serves in containers, that "
        "of ferry-batch computes; the deb is installed, serves under systemd, is "
        "upgraded and purged, and so is the tarball", options.command)
    images = newest_image("ferry"), newest_image("ferry-batch")
    runs = {image.name: check("check_image.py", image,
                              FERRY_SERVER=options.programs.path("ferry-server"))
            for image in images}
    runs["deb and tarball"] = check("check_package.py", "--bin",
                                    options.programs.folder.parent)
    versions = {name: measuring.run(["dpkg-query", "-W", "-f", "${Version}", name])
                for name in TOOLS}
    result |= {"versions": versions, "runs": runs,
               "passed": all(run["exit_code"] == 0 for run in runs.values())}
    page = measuring.table(["package of Debian", "version"], versions.items())
    for what, run in runs.items():
        page += (f"\n{what}, exit code {run['exit_code']}:\n\n" +
                 "".join(f"    {line}\n" for line in run["said"]))
    return result, page

"""B4: many executions of each fuzz target without a crash, the coverage of the
codec by the kept corpus, and bugs that are planted and found."""

import dataclasses
import json
import pathlib
import shutil
import subprocess
import tempfile

import fuzzers
import measuring

RUNS = {"codec": 10_000_000, "config": 10_000_000, "files": 1_000_000}
JOBS = 2
PLANTED_RUNS = 5_000_000
LEAST_COVERAGE = 90.0  # percent of lines
# What decodes a request and encodes a reply.
CODEC = ("server/wire_reader", "server/infer_message", "server/infer_codec",
         "server/infer_parameters", "server/raw_contents",
         "server/typed_contents", "batcher/bytes_elements", "batcher/run_reader",
         "server/infer_response", "server/stream_message",
         "server/classification", "server/client_text")
COVERAGE_FLAGS = "-fprofile-instr-generate -fcoverage-mapping"


@dataclasses.dataclass(frozen=True)
class Bug:
    """A change of one place of a source that a target must find."""

    target: str
    path: str
    right: str
    wrong: str
    what: str


BUGS = (
    Bug("codec", "server/infer_message.cc",
        "if (std::memcmp(run.data, kept, run.size) != 0) {",
        "if (std::memcmp(run.data, kept, run.size / 2) != 0) {",
        "fields of the message before taken for this one's"),
    Bug("codec", "server/infer_response.cc",
        "packed += VarintBytes(static_cast<uint64_t>(dim));",
        "packed += 1;",
        "a shape of larger sizes said to be shorter than it is"),
    Bug("codec", "server/typed_contents.cc",
        "if (static_cast<Wide>(value) != field[i]) {",
        "if (static_cast<Wide>(value) > field[i]) {",
        "values that do not fit their type taken"),
    Bug("config", "models/config_levels.cc",
        "if (number < 1 || number > count) {",
        "if (number < 1 || number > count + 1) {",
        "a level written past the last"),
    Bug("config", "models/config_parameters.cc",
        "if (options.buckets[i] <= options.buckets[i - 1]) {",
        "if (options.buckets[i] == options.buckets[i - 1]) {",
        "buckets that do not ascend taken"),
    Bug("files", "models/safetensors.cc",
        "static_cast<uint64_t>((*range)[1]) > data.size()",
        "static_cast<uint64_t>((*range)[0]) > data.size()",
        "a tensor that ends behind its file taken"),
)


def build(folder, binary, *options, target=None):
    """Configures the preset in a folder of sources, and builds it."""
    launcher = shutil.which("ccache")
    if launcher:
        options += (f"-DCMAKE_CXX_COMPILER_LAUNCHER={launcher}",)
    if shutil.which("mold"):
        options += ("-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=mold",)
    measuring.run(["cmake", "--preset", "fuzz", "-B", binary, *options],
                  cwd=folder)
    targets = [target] if target else [f"{t}_fuzzer" for t in fuzzers.TARGETS]
    measuring.run(["nice", "-n", "10", "cmake", "--build", binary, "--parallel",
                   JOBS, "--target", *targets], cwd=folder)


def fuzz_all(runs):
    rows = {}
    for target, count in runs.items():
        measuring.say(f"{count:,} executions of {target}")
        with tempfile.TemporaryDirectory() as found:
            done = fuzzers.fuzz(target, count, JOBS,
                                found=pathlib.Path(found) / target)
        rows[target] = dataclasses.asdict(done)
    return rows


def coverage():
    """Returns lines and covered lines of each file of the codec."""
    measuring.say("coverage of the codec by the kept corpus")
    folder = measuring.ROOT / "build/fuzz-coverage"
    build(measuring.ROOT, folder, f"-DCMAKE_CXX_FLAGS={COVERAGE_FLAGS}",
          target="codec_fuzzer")
    program = folder / "bin/codec_fuzzer"
    raw, data = folder / "codec.profraw", folder / "codec.profdata"
    measuring.run([program, "-runs=0", folder / "corpus/codec"],
                  env=fuzzers.environment() | {"LLVM_PROFILE_FILE": str(raw)})
    measuring.run(["llvm-profdata-14", "merge", "-o", data, raw])
    report = json.loads(measuring.run(
        ["llvm-cov-14", "export", "-summary-only",
         f"-instr-profile={data}", program]))
    files = {}
    for file in report["data"][0]["files"]:
        path = file["filename"].removeprefix(f"{measuring.ROOT}/")
        if path.startswith(CODEC):
            lines = file["summary"]["lines"]
            files[path] = {"lines": lines["count"], "covered": lines["covered"]}
    missing = [part for part in CODEC
               if not any(path.startswith(part) for path in files)]
    if missing:
        raise measuring.Failure(f"no coverage of {', '.join(missing)}: expected "
                                "all of the codec in the target")
    return files


def copy_sources(folder):
    listed = measuring.run(["git", "-C", measuring.ROOT, "ls-files", "-z",
                            "--cached", "--others", "--exclude-standard"])
    for path in filter(None, listed.split("\0")):
        if (measuring.ROOT / path).is_file():
            copied = folder / path
            copied.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(measuring.ROOT / path, copied)


def find_planted(bug, sources, runs):
    """Fuzzes with the bug in place and takes it out again."""
    path = sources / bug.path
    text = path.read_text()
    if text.count(bug.right) != 1:
        raise measuring.Failure(f"{bug.path}: expected once '{bug.right}', "
                                f"found {text.count(bug.right)} times: plant "
                                "the bug elsewhere")
    measuring.say(f"a bug in {bug.path}: {bug.what}")
    binary = sources / "build/fuzz"
    path.write_text(text.replace(bug.right, bug.wrong))
    try:
        build(sources, binary, target=f"{bug.target}_fuzzer")
        with tempfile.TemporaryDirectory() as found:
            done = fuzzers.fuzz(bug.target, runs, 1, binary,
                                pathlib.Path(found) / bug.target)
    finally:
        path.write_text(text)
    said = [line for line in done.crash.splitlines()
            if "check failed" in line or "SUMMARY" in line or
            "runtime error" in line]
    kept = len(list((binary / "corpus" / bug.target).iterdir()))
    return dataclasses.asdict(bug) | {
        "found": bool(done.crash), "executions": done.executions,
        "by_kept_corpus": bool(done.crash) and done.executions <= kept,
        "said": said[0].strip().replace(f"{sources}/", "") if said else ""}


def find_all_planted(runs):
    with tempfile.TemporaryDirectory() as folder:
        sources = pathlib.Path(folder)
        copy_sources(sources)
        return [find_planted(bug, sources, runs) for bug in BUGS]


def percent(files):
    lines = sum(file["lines"] for file in files.values())
    return 100 * sum(file["covered"] for file in files.values()) / lines


def write_page(result):
    runs, files = result["runs"], result["coverage"]
    page = measuring.table(
        ["target", "executions", "crashes", "executions/s", "command"],
        [[target, f"{run['executions']:,}", int(bool(run["crash"])),
          f"{run['executions'] / run['seconds']:,.0f}", f"`{run['command']}`"]
         for target, run in runs.items()])
    page += (f"\nLines of the codec covered by the kept corpus: "
             f"{result['covered_percent']:.1f} %.\n\n")
    page += measuring.table(
        ["file", "lines", "covered"],
        [[path, file["lines"], f"{100 * file['covered'] / file['lines']:.1f} %"]
         for path, file in sorted(files.items())])
    page += "\nBugs planted one at a time, and how they were found:\n\n"
    page += measuring.table(
        ["target", "bug", "executions", "said"],
        [[bug["target"], f"{bug['what']} ({bug['path']})",
          (f"{bug['executions']:,}" +
           (", the kept corpus" if bug["by_kept_corpus"] else ""))
          if bug["found"] else "not found", f"`{bug['said']}`"]
         for bug in result["bugs"]])
    return page


def measure(options):
    for tool in ("llvm-profdata-14", "llvm-cov-14"):
        if not shutil.which(tool):
            raise measuring.Failure(f"{tool} is not installed; apt-get install "
                                    "llvm-14")
    if set(RUNS) != set(fuzzers.TARGETS):
        raise measuring.Failure("RUNS: expected the targets of fuzzers.py")
    runs = dict.fromkeys(RUNS, options.runs) if options.runs else RUNS
    counted = ", ".join(f"{count:,} of {target}"
                        for target, count in runs.items())
    result = measuring.describe(
        "B4", f"executions of the fuzz targets, {counted}: 0 crashes; at least "
        f"{LEAST_COVERAGE:.0f} % of the codec's lines covered; a bug planted in "
        "each is found", options.command)
    build(measuring.ROOT, fuzzers.BUILD)
    result["coverage"] = coverage()
    result["covered_percent"] = percent(result["coverage"])
    result["bugs"] = find_all_planted(PLANTED_RUNS)
    result["runs"] = fuzz_all(runs)
    result["passed"] = (
        result["covered_percent"] >= LEAST_COVERAGE and
        all(bug["found"] for bug in result["bugs"]) and
        all(run["executions"] >= runs[target] and not run["crash"]
            for target, run in result["runs"].items()))
    return result, write_page(result)

"""B4: many executions of a fuzz target without a crash, bugs that are planted
and found, and the coverage of the codec by its kept corpus."""

import dataclasses
import json
import pathlib
import shutil
import subprocess
import tempfile

import fuzzers
import measuring

RUNS = {"codec": 10_000_000, "config": 10_000_000, "files": 10_000_000,
        "clients": 10_000_000, "http": 1_000_000, "http2": 1_000_000,
        "regions": 1_000_000,
        "scheduler": 1_000_000}
JOBS = 2
PLANTED_RUNS = 5_000_000
LEAST_COVERAGE = 90.0  # percent of lines
# What decodes a request and encodes a reply.
CODEC = ("server/codec/wire_reader", "server/codec/infer_message", "server/codec/infer_codec",
         "server/codec/infer_parameters", "server/codec/typed_contents",
         "tensor/bytes_elements", "tensor/segment_reader", "server/codec/infer_response",
         "server/codec/stream_message", "server/codec/classification", "server/client_text")
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
    Bug("codec", "server/codec/infer_message.cc",
        "!kept_.empty() && small_ == kept_;",
        "!kept_.empty() && small_.size() == kept_.size();",
        "fields of the message before taken for this one's"),
    Bug("codec", "server/codec/infer_response.cc",
        "packed += VarintBytes(SizeOf(dim));",
        "packed += 1;",
        "a shape of larger sizes said to be shorter than it is"),
    Bug("codec", "server/codec/typed_contents.cc",
        "if (static_cast<Value>(element) != value) {",
        "if (static_cast<Value>(element) > value) {",
        "values that do not fit their type taken"),
    Bug("config", "models/config/config_levels.cc",
        "if (number < 1 || number > count) {",
        "if (number < 1 || number > count + 1) {",
        "a level written past the last"),
    Bug("config", "models/config/config_parameters.cc",
        "if (options.buckets[i] <= options.buckets[i - 1]) {",
        "if (options.buckets[i] == options.buckets[i - 1]) {",
        "buckets that do not ascend taken"),
    Bug("files", "models/files/safetensors.cc",
        "if (expected != data.begin + data.size) {",
        "if (expected > data.begin + data.size) {",
        "tensors that end before their file does taken"),
    Bug("files", "models/repository/manifest_text.cc",
        '*path.begin() != ".." &&',
        'path != ".." &&',
        "a path that leads out of the folder taken"),
    Bug("files", "bench/client/payload_npy.cc",
        "if (length > text.size()) {",
        "if (length > text.size() + 1) {",
        "an array's header that ends behind its file taken"),
    Bug("files", "bench/plan/price_file.cc",
        "if (!CheckPositive(\"\", DevicePerHour(row)).ok()) {",
        "if (!CheckNotNegative(\"\", DevicePerHour(row)).ok()) {",
        "a price of nothing taken"),
    Bug("clients", "server/net/frame_counter.cc",
        "skip_left_ -= static_cast<uint32_t>(skipped);",
        "skip_left_ = 0;",
        "a priority that is cut read as fields"),
    Bug("clients", "server/net/frame_counter.cc",
        "weights_.erase(found);",
        "found->second = 1;",
        "a request that may be ended twice"),
    Bug("clients", "server/trace/trace_context.cc",
        "(c >= 'a' && c <= 'f')",
        "(c >= 'A' && c <= 'f')",
        "upper case and more taken for hexadecimal digits"),
    Bug("clients", "server/auth/token_file.cc",
        "\"a name\",\n        \"another\");",
        "\"a name\",\n        digits);",
        "a digest that is told where it is wrong"),
    Bug("clients", "server/auth/authorizer.cc",
        "absl::StartsWithIgnoreCase(authorization, kBearer)",
        "authorization.size() >= kBearer.size()",
        "a token that is known by any scheme"),
    Bug("http", "server/http/http_listener.cc",
        'return value == nullptr ? "" : value;',
        "return value;",
        "a header that is not sent read"),
    Bug("http", "server/http/model_pages.cc",
        'if (parts[2] != "models" || (parts.size() != 4 && !has_version)) {',
        'if (parts[2] != "models") {',
        "a model's page without a name read"),
    Bug("http2", "server/net/frame_fence.cc",
        "peers_.Remove(*peer);",
        "static_cast<void>(*peer);",
        "connections that have ended counted for ever"),
    Bug("http2", "server/grpc/grpc_infer_call.cc",
        "void GrpcInferCall::OnSent(bool) {\n  unsent_.Remove(*this);",
        "void GrpcInferCall::OnSent(bool ok) {\n  if (ok) unsent_.Remove(*this);",
        "a reply that cannot be sent counted for ever"),
    Bug("http2", "server/grpc/infer_stream.cc",
        "environment_.unsent.RemoveWaiting(item->answer.Length());",
        "item->answer.Clear();",
        "answers of a stream that has ended counted for ever"),
    Bug("regions", "server/codec/shared_regions.cc",
        "if (offset <= bytes_ && bytes <= bytes_ - offset) {",
        "if (offset <= bytes_ && bytes <= bytes_) {",
        "a tensor's range that ends behind its region taken"),
    Bug("regions", "server/codec/shared_regions.cc",
        "if (at + static_cast<off_t>(from.size()) > found.st_size) {",
        "if (at > found.st_size) {",
        "an object that was cut made longer by a reply"),
    Bug("regions", "server/codec/shared_regions.cc",
        "if (leaving.client != client || (!name.empty() && leaving.name != name)) {",
        "if (leaving.client == client || (!name.empty() && leaving.name != name)) {",
        "unregister answered while a request uses the region"),
    Bug("scheduler", "batcher/scheduler.cc",
        "LowerLook(clock_.Now() + kCancelDelay);",
        "(void)kCancelDelay;",
        "a request that is cancelled waits on in the queue"),
    Bug("scheduler", "batcher/internal/batch_planner.cc",
        "limits.newest = std::min(limits.newest, other->any().arrival);",
        "(void)other;",
        "a request overtaken by one of another shape"),
    Bug("scheduler", "batcher/scheduler.cc",
        "  return turn.is_let_in;\n",
        "  return true;\n",
        "a batch that does not wait for its turn on the device"),
)


def build(folder, binary, *options, target=None):
    """Configures the preset in a folder of sources, and builds it."""
    if shutil.which("mold"):
        options += ("-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=mold",)
    measuring.run(["cmake", "--preset", "fuzz", "-B", binary, *options],
                  cwd=folder)
    targets = [target] if target else [f"{t}_fuzzer" for t in fuzzers.TARGETS]
    measuring.run(["nice", "-n", "10", "cmake", "--build", binary, "--parallel",
                   JOBS, "--target", *targets], cwd=folder)


def fuzz(target, count):
    measuring.say(f"{count:,} executions of {target}")
    with tempfile.TemporaryDirectory() as found:
        return dataclasses.asdict(fuzzers.fuzz(
            target, count, JOBS, found=pathlib.Path(found) / target))


def coverage():
    """Returns lines and covered lines of each file of the codec."""
    measuring.say("coverage of the codec by the kept corpus")
    folder = measuring.ROOT / "build/fuzz-coverage"
    # Without ccache, whose objects may name the sources of another folder.
    build(measuring.ROOT, folder, f"-DCMAKE_CXX_FLAGS={COVERAGE_FLAGS}",
          "-DCMAKE_CXX_COMPILER_LAUNCHER=", target="codec_fuzzer")
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


def find_all_planted(target):
    with tempfile.TemporaryDirectory() as folder:
        sources = pathlib.Path(folder)
        copy_sources(sources)
        return [find_planted(bug, sources, PLANTED_RUNS) for bug in BUGS
                if bug.target == target]


def percent(files):
    lines = sum(file["lines"] for file in files.values())
    return 100 * sum(file["covered"] for file in files.values()) / lines


def coverage_page(result):
    return (f"\nLines of the codec covered by the kept corpus: "
            f"{result['covered_percent']:.1f} %.\n\n" + measuring.table(
                ["file", "lines", "covered"],
                [[path, file["lines"],
                  f"{100 * file['covered'] / file['lines']:.1f} %"]
                 for path, file in sorted(result["coverage"].items())]))


def write_page(result):
    run = result["run"]
    page = (f"`{run['command']}`, {JOBS} processes: {run['executions']:,} "
            f"executions, {run['executions'] / run['seconds']:,.0f}/s, "
            f"{'a crash' if run['crash'] else 'no crash'}.\n")
    if "coverage" in result:
        page += coverage_page(result)
    page += "\nBugs planted one at a time, and how they were found:\n\n"
    page += measuring.table(
        ["bug", "executions", "said"],
        [[f"{bug['what']} ({bug['path']})",
          (f"{bug['executions']:,}" +
           (", the kept corpus" if bug["by_kept_corpus"] else ""))
          if bug["found"] else "not found", f"`{bug['said']}`"]
         for bug in result["bugs"]])
    return page


def measure(target, options):
    for tool in ("llvm-profdata-14", "llvm-cov-14"):
        if not shutil.which(tool):
            raise measuring.Failure(f"{tool} is not installed; apt-get install "
                                    "llvm-14")
    count = options.runs or RUNS[target]
    has_coverage = target == "codec"
    result = measuring.describe(
        f"B4-{target}", f"{count:,} executions of the fuzz target {target}: 0 "
        "crashes; bugs planted in it are found" +
        (f"; at least {LEAST_COVERAGE:.0f} % of the codec's lines covered"
         if has_coverage else ""), options.command)
    build(measuring.ROOT, fuzzers.BUILD)
    if has_coverage:
        result["coverage"] = coverage()
        result["covered_percent"] = percent(result["coverage"])
    result["bugs"] = find_all_planted(target)
    result["run"] = fuzz(target, count)
    result["passed"] = (
        result.get("covered_percent", 100) >= LEAST_COVERAGE and
        all(bug["found"] for bug in result["bugs"]) and
        result["run"]["executions"] >= count and not result["run"]["crash"])
    return result, write_page(result)

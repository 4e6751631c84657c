"""The style and layer rules that tidy_test checks; each with its reason.

A rule is a function from a Source to lines of complaint. The list RULES is
the whole of what is checked. Errors: none; a file that is not text is not
given to the rules.
"""

import dataclasses
import re

import prose


@dataclasses.dataclass(frozen=True)
class Source:
    """A file of the repository: its path from the root, and its lines."""

    path: str
    lines: tuple[str, ...]

    @property
    def folder(self):
        return self.path.split("/")[0]

    def is_cpp(self):
        return self.path.endswith((".h", ".cc"))

    def code(self):
        """Yields (line number, line without // comments and strings)."""
        for number, line in enumerate(self.lines, 1):
            line = re.sub(r'"(\\.|[^"\\])*"', '""', line)
            yield number, re.sub(r"//.*", "", line)

    def includes(self):
        """Yields (line number, header) of each #include."""
        for number, line in enumerate(self.lines, 1):
            found = re.match(r'\s*#\s*include\s+["<]([^">]+)[">]', line)
            if found:
                yield number, found.group(1)


# ---------------------------------------------------------------------------
# Layers

STANDARD = re.compile(r"^[a-z_]+$")  # <vector>, <cstdint>
LINUX = {"fcntl.h", "linux/futex.h", "poll.h", "pthread.h", "sched.h",
         "sys/prctl.h", "sys/resource.h", "sys/stat.h", "sys/syscall.h",
         "time.h", "unistd.h"}
# NVML stands alone, so that any program may link it.
NVML = "models/nvml/"
NVML_MAY = (NVML, "absl/", "base/clock.h", "base/mutex.h", "dlfcn.h",
            "nlohmann/")
TORCH = ("torch/", "ATen/", "c10/", "caffe2/", "cuda", "nvml", "nvToolsExt")
PROTOBUF = ("google/protobuf/", "grpc/", "grpcpp/", "grpc++/", "proto/")

# Folder: what of ours it may include; nothing else but std and Abseil.
LOWER_LAYERS = {
    "base": ("base/",),
    "tensor": ("base/", "tensor/"),
    "batcher": ("base/", "tensor/", "batcher/"),
}

# Folder: (headers it may not include, why). Distribution headers lie on the
# default include path, so neither compiler nor linker would notice.
FORBIDDEN = {
    "models": (("server/", "bench/", "grpc/", "grpcpp/", "grpc++/",
                "proto/inference"),
               "models sees the batcher and proto/model_config only"),
    "server": (("bench/",) + TORCH,
               "only models/ sees LibTorch and CUDA"),
    "bench": (("server/", "models/") + TORCH,
              "bench measures from outside: proto and batcher only, but for "
              "what bench/inprocess measures"),
    "deploy": (("models/", "server/", "bench/", "grpc/", "grpcpp/", "grpc++/",
                "proto/") + TORCH,
               "the launcher sees devices by models/nvml, servers as processes "
               "and by HTTP"),
    "flags": (("tensor/", "batcher/", "models/", "server/", "bench/", "deploy/") + TORCH +
              PROTOBUF,
              "flags knows the standard library, Abseil and CLI11"),
    "proto": (("base/", "tensor/", "batcher/", "models/", "server/", "bench/") + TORCH,
              "proto is the lowest layer"),
}

# What a part of a folder may include all the same: the way to a loaded model,
# which bench/inprocess measures, and the formulas, files and calls of ferry-bench.
MAY_INCLUDE = {
    "bench/inprocess/": ("models/config/override_flags.h",
                         "models/repository/model_repository.h", "models/repository/served_model.h",
                         "models/start_cuda.h", "models/torch_library.h"),
    "deploy/ctl/": ("bench/plan/", "bench/report/", "bench/commands/slo_point.h",
                    "models/files/safetensors.h",
                    # How a client reaches a running server, and what it reads.
                    "bench/client/admin_client.h", "bench/client/connection.h",
                    "bench/device/metrics_page.h", "grpcpp/", "proto/"),
}


def layers(source):
    if not source.is_cpp():
        return
    for number, header in source.includes():
        if any(source.path.startswith(folder) and header.startswith(headers)
               for folder, headers in MAY_INCLUDE.items()):
            continue
        if source.folder in LOWER_LAYERS:
            below = LOWER_LAYERS[source.folder]
            if not (header.startswith(below + ("absl/",)) or
                    STANDARD.match(header) or header in LINUX):
                yield number, (f"includes {header}: {source.folder}/ knows the "
                               "standard library, Abseil and "
                               + ", ".join(below))
            continue
        if source.path.startswith(NVML):
            if not (header.startswith(NVML_MAY) or STANDARD.match(header) or
                    header in LINUX):
                yield number, (f"includes {header}: {NVML} knows the standard "
                               "library, Abseil, clock and mutex, and itself")
            continue
        headers, reason = FORBIDDEN.get(source.folder, ((), ""))
        if header.startswith(headers) and not header.startswith(NVML):
            yield number, f"includes {header}: {reason}"


def internal_headers(source):
    """What is internal may change without a look at those who stand outside."""
    for number, header in source.includes() if source.is_cpp() else ():
        if (header.startswith("batcher/internal/") and
                not source.path.startswith(("batcher/", "tests/batcher/"))):
            yield number, (f"includes {header}: only batcher/ and its tests see "
                           "batcher/internal/")


def torch_and_protobuf_apart(source):
    """LibTorch's include folder carries an old google/protobuf."""
    headers = [header for _, header in source.includes()]
    if any(h.startswith(TORCH[:3]) for h in headers):
        for number, header in source.includes():
            if header.startswith(PROTOBUF):
                yield number, (f"includes {header} beside LibTorch, whose "
                               "folder carries another protobuf: such a file "
                               "does not compile everywhere")


def own_header_first(source):
    """So each header that has a source is known to compile alone."""
    own = source.path[:-3] + ".h"
    headers = [header for _, header in source.includes()]
    if source.path.endswith(".cc") and own in headers and headers[0] != own:
        yield 1, f"expected {own} first, got {headers[0]}"


# ---------------------------------------------------------------------------
# Words that are banned, where, and why

MAIN = re.compile(r"(^|/|_)main\.cc$")


@dataclasses.dataclass(frozen=True)
class Ban:
    """A pattern that no code may hold where `applies` says so."""

    pattern: str
    reason: str
    applies: object

    def __call__(self, source):
        if not source.is_cpp() or not self.applies(source.path):
            return
        for number, line in source.code():
            if re.search(self.pattern, line):
                yield number, f"{line.strip()}: {self.reason}"


def under(*folders, but=()):
    """Returns a test of paths: in one of the folders, and not in `but`."""
    return lambda path: path.startswith(folders) and not path.startswith(but)


OURS = ("base/", "tensor/", "batcher/", "flags/", "models/", "server/", "bench/", "deploy/",
        "tests/", "examples/")

BANS = [
    Ban(r"\b(sleep_for|sleep_until|usleep|nanosleep|sleep)\s*\(",
        "no sleeping: wait for the condition, with Clock or a condition "
        "variable", under("base/", "tensor/", "batcher/", "models/", "server/",
                          "deploy/", "tests/base/", "tests/tensor/",
                          "tests/batcher/", "tests/models/", "tests/support/")),
    Ban(r"\bsystem_clock\b",
        "time is monotonic, through Clock; wall time belongs in log lines, in "
        "spans and in ModelStatistics.last_inference",
        under(*OURS, but=("server/log", "server/control/model_messages.cc",
                          "server/trace/request_trace.cc", "bench/report"))),
    Ban(r"\bgetenv\s*\(",
        "the environment is read in main only, so that a flag shows it; "
        "models/torch_library.cc may, for what libgomp reads when it loads, "
        "bench/micro/copy_count.cc, which is preloaded and has no flags, and "
        "flags/terminal.cc, for the terminal's own COLUMNS",
        lambda path: path.startswith(OURS) and not MAIN.search(path) and
        not path.startswith(("tests/", "models/torch_library.cc",
                             "flags/terminal.cc", "bench/micro/copy_count.cc"))),
    Ban(r"\bstd::((recursive_|shared_|timed_)?mutex|lock_guard|scoped_lock|"
        r"unique_lock)\b|\babsl::Mutex",
        "locks are those of base/mutex.h, which are annotated and which "
        "ThreadSanitizer understands",
        under("base/", "tensor/", "batcher/", "models/", "server/", "deploy/",
              but=("base/mutex.h",))),
    Ban(r"\batomic_thread_fence\b|atomic<\s*std::shared_ptr",
        "ThreadSanitizer does not model fences, and libstdc++'s atomic "
        "shared_ptr is a spinlock", under(*OURS)),
    Ban(r"\b(system|popen|execlp|execvpe?)\s*\(",
        "no shell and no search of PATH: a program is started by its path with "
        "a list of arguments, by posix_spawn() or execve()",
        under("base/", "tensor/", "batcher/", "flags/", "models/", "server/",
              "deploy/")),
    Ban(r"\balloca\s*\(", "no memory of a size that is input on the stack",
        under(*OURS)),
    Ban(r"\b(shm_open|shmget|shmat|cudaIpc\w+)\s*\(",
        "memory is shared with clients by SharedRegions alone, which maps none",
        under("models/", "server/", but=("server/codec/shared_regions.cc",))),
    Ban(r"#\s*include\s*<(httplib|curl/)",
        "nothing is fetched by a URL; a collector that a flag names is told of "
        "spans, and nothing else", under("models/", "server/",
                                         but=("server/trace/trace_sink.cc",))),
    Ban(r"\busing namespace\b", "name what is used", under(*OURS)),
    Ban(r"#pragma once", "guards are FERRY_<PATH>_H_", under(*OURS)),
]


# ---------------------------------------------------------------------------
# Files

TODO = re.compile(r"\bTODO\b")
NUMBERED = re.compile(r"\bTODO\(#\d+\)")


def todos_are_numbered(source):
    if source.path.startswith("tests/tidy/"):
        return
    for number, line in enumerate(source.lines, 1):
        if TODO.search(line) and not NUMBERED.search(line):
            yield number, "a TODO carries the issue: TODO(#12)"


def lines_are_short(source):
    if not (source.is_cpp() or source.path.endswith(".proto")):
        return
    for number, line in enumerate(source.lines, 1):
        if len(line) > 80 and not re.search(r"https?://|#include|R\"", line):
            yield number, f"{len(line)} columns, at most 80"


def guards_follow_the_path(source):
    if not source.path.endswith(".h"):
        return
    guard = "FERRY_" + re.sub(r"[^A-Z0-9]", "_", source.path.upper()) + "_"
    if f"#ifndef {guard}" not in source.lines:
        yield 1, f"expected the guard {guard}"


OPENINGS = {
    (".h", ".cc", ".proto"): ("//",),
    (".py",): ('"""', 'r"""'),
    (".sh", ".cmake", ".yml", ".yaml", "CMakeLists.txt"): ("#",),
}


def files_say_what_they_are(source):
    lines = list(source.lines)
    if lines and lines[0].startswith("#!"):
        lines = lines[1:]
    for endings, openings in OPENINGS.items():
        if source.path.endswith(endings) and lines:
            if not lines[0].startswith(openings):
                yield 1, "opens without a comment that says what the file is"


PEOPLE = re.compile(r"\b(who|whoever|whom|nobody|somebody|anybody)\b", re.I)
HEADLINE = re.compile(r"^// [\w:~-]+(\(\))?: ")


def comments_begin_with_a_subject(source):
    """No comment begins with "Of"; a line of C++ does not go on with it."""
    if not source.path.endswith((".h", ".cc", ".cu", ".cuh", ".py")):
        return
    before = ""
    for number, line in enumerate(source.lines, 1):
        if (re.match(r"\s*// Of [a-z]", line) or
                re.match(r"\s*(//|#) Of ", line) and
                not re.match(r"\s*(//|#)", before)):
            yield number, "begins with 'Of': put the subject first"
        before = line


def comments_are_plain(source):
    """Subject and verb; threads and requests are not people."""
    if not source.path.endswith((".h", ".cc", ".cu", ".cuh")):
        return
    if source.lines and HEADLINE.search(source.lines[0]):
        yield 1, "the first line says what the file does: subject and verb"
    for number, line in enumerate(source.lines, 1):
        comment = re.sub(r'"(\\.|[^"\\])*"', '""', line).partition("//")[2]
        if PEOPLE.search(comment):
            yield number, ("names a person: write 'the thread that', 'a client "
                           "that', 'no request'")
        before = source.lines[number - 2] if number > 1 else ""
        if re.match(r"\s*// As ", line) and not re.match(r"\s*//", before):
            yield number, "begins with 'As': put the subject first"


def paths_are_portable(source):
    """Nothing names the machine that it was written on."""
    machine = re.compile(r"(?<![\w.$}/~-])/(work|root|home)/\w")
    if source.path.startswith(("tests/tidy/", "bench/results/")):
        return
    for number, line in enumerate(source.lines, 1):
        if machine.search(line):
            yield number, f"{line.strip()[:60]}: a path of one machine"


RULES = [
    layers,
    internal_headers,
    torch_and_protobuf_apart,
    own_header_first,
    *BANS,
    todos_are_numbered,
    lines_are_short,
    guards_follow_the_path,
    files_say_what_they_are,
    comments_are_plain,
    comments_begin_with_a_subject,
    paths_are_portable,
    *prose.RULES,
]

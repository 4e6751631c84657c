"""Runs an export: build, write, serve, compare, put in place."""

import signal
import sys
import time

from ferry_export import command as command_line
from ferry_export import model_folder
from ferry_export.errors import ExportError


def say(text):
    print(f"export: {text}", flush=True)


def described(specs):
    return ", ".join(f"{s.name} {s.type} {list(s.dims)}" for s in specs)


def run(words):
    """Returns whether the served answers are within the tolerance."""
    command = command_line.parse(words)
    model_folder.check_place(command)
    try:
        import torch  # noqa: F401, the rest needs it
    except ImportError as error:
        raise ExportError(
            f"torch cannot be imported ({error}): an export takes all of it. "
            "PyTorch's build for the processor will do (200 MB), in a Python "
            "that FERRY_EXPORT_PYTHON names: docs/export.md has the commands. "
            "Or run scripts/setup.sh --full (4 GB, with CUDA)") from None
    if command.check:
        try:
            import tritonclient.grpc  # noqa: F401, before what takes minutes
        except ImportError as error:
            raise ExportError(f"tritonclient cannot be imported ({error}): "
                              "pip install tritonclient[grpc], or --no-check"
                              ) from None
    from ferry_export import aoti_package, interface, samples, sources
    from ferry_export import torch_script
    aoti_package.check_device(command.device)
    module = sources.build(command)
    specs = interface.order_inputs(module, command.inputs)
    outputs = interface.find_outputs(command, module, specs)
    say(f"{command.source}: {described(specs)} to {described(outputs)}")
    arrays = samples.make(command, command.rows)
    sample = model_folder.sample_of(command, specs, arrays)
    config = model_folder.config_text(command, specs, outputs, sample)
    model_folder.check_same_config(command, config)
    expected = {spec.name: value.numpy() for spec, value in zip(
        outputs, interface.call(module, specs, arrays).values())}
    # Before the module is cast.
    checks = [(arrays, expected), *large_rows(command, module, specs, outputs)]
    with model_folder.staged_repository(command, config) as stage:
        model_folder.write_sample(stage / command.name, specs, sample)
        file = (stage / command.name / str(command.version) /
                model_folder.FILES[command.format])
        started = time.monotonic()
        writer = torch_script if command.format == "pt" else aoti_package
        writer.write(command, module, specs, file)
        kind = f"int8 {command.int8}" if command.dtype == "int8" else (
            command.dtype)
        files = sorted(file.parent.iterdir())
        size = sum(made.stat().st_size for made in files)
        say(f"{', '.join(made.name for made in files)}, {kind}, "
            f"{size / 1e6:.1f} MB, made in {time.monotonic() - started:.0f} s")
        if command.format == "pt2":
            for name, place, largest in aoti_package.bounds(
                    files[0], specs, command.has_rows()):
                say(f"{name}: torch's compiler bounds the size in place {place} "
                    f"of its dims to {largest}; a request of more fails, with "
                    "--format pt it does not")
        if command.check and not all(
                passes(command, specs, outputs, rows, answers, stage)
                for rows, answers in checks):
            say(f"nothing was written to {command.folder()}")
            return False
        model_folder.put_in_place(command, stage)
    say(f"wrote {command.folder() / str(command.version)}; serve it with "
        f"ferry-server --model-repository {command.repository}")
    return True


def passes(command, specs, outputs, arrays, expected, stage):
    from ferry_export import served_check
    if not command.has_rows():
        expected = {name: value[None] for name, value in expected.items()}
    found = served_check.check(command, specs, outputs, arrays, expected, stage)
    rows = len(next(iter(arrays.values()))) if command.has_rows() else 1
    say(f"served, against the module in fp32, {rows} rows:")
    for comparison in found:
        say("  " + comparison.text())
    return all(comparison.passed for comparison in found)


def large_rows(command, module, specs, outputs):
    """Returns two rows of a large size and what fp32 makes of them, in a list
    that is empty where no size varies or the module takes no such rows."""
    from ferry_export import interface, samples
    if not samples.has_large(command):
        return []
    arrays = samples.noise(command.inputs, 2, command.has_rows(),
                           samples.LARGE_SIZE)
    try:
        given = interface.call(module, specs, arrays)
    except ExportError:
        return []
    return [(arrays, {spec.name: value.numpy()
                      for spec, value in zip(outputs, given.values())})]


def main():
    # An end from outside ends the server that checks, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        return 0 if run(sys.argv[1:]) else 1
    except ExportError as error:
        print(f"export: error: {error}", file=sys.stderr)
    except OSError as error:  # a full disk, a folder without permission
        print(f"export: error: nothing was written: {error}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())

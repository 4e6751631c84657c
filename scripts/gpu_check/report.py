"""What came of the steps, as JSON and as text."""

import datetime
import os
import platform
import re

import tables

FORMAT = "ferry-gpu-check/1"
PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"


def line_of(step):
    device = f" [{step['device']}]" if step["device"] else ""
    reason = f": {step['reason']}" if step["reason"] else ""
    return (f"{step['outcome']:8}{step['seconds']:8.1f} s  {step['name']}"
            f"{device}{reason}")


def figure_lines(steps):
    """Of the steps that have figures, a block each."""
    for step in steps:
        if step.get("figures"):
            yield f"{step['name']} [{step['device']}]"
            for name, value in step["figures"].items():
                yield f"  {name}: {value}"
            yield ""


def outcome_of(steps):
    outcomes = {step["outcome"] for step in steps}
    return next(one for one in (FAILED, SKIPPED, PASSED) if one in outcomes)


def header(check):
    """Returns what says where and when, for the report's beginning."""
    bundle = check.home / "BUNDLE.txt"
    said = bundle.read_text().splitlines()[0] if bundle.exists() else ""
    commit = re.search(r"of commit (\S+)", said)
    now = datetime.datetime.now(datetime.timezone.utc)
    return {"format": FORMAT, "date": now.isoformat(timespec="seconds"),
            "bundle": said, "commit": commit.group(1) if commit else "unknown",
            "system": platform.platform(), "processors": os.cpu_count()}


def facts(check):
    return {"driver": check.seen.get("driver_version"),
            "nvml": check.seen.get("nvml_version"),
            "devices": check.seen.get("gpus", []), "device": check.device}


def describe(made):
    """Returns the lines that say what was checked."""
    yield f"{made['bundle'] or 'no BUNDLE.txt'}; {made['system']}"
    yield f"date: {made['date']}, commit: {made['commit']}"
    yield f"driver: {made['driver'] or 'none'}"
    for gpu in made["devices"]:
        slices = ", ".join(f"{one['uuid']} {one.get('profile', '')}".strip()
                           for one in gpu["mig_devices"])
        yield (f"GPU {gpu['index']}: {gpu['name']} {gpu['uuid']}" +
               (f": {slices}" if slices else ""))
    if not made["devices"]:
        yield "device: none"


def summary(made):
    """Returns the report as text."""
    lines = [*describe(made), "", *map(line_of, made["steps"]), ""]
    for step in made["steps"]:
        if step.get("calls"):
            names = list(step["calls"][0])
            lines += ["| " + " | ".join(names) + " |",
                      "|" + " --- |" * len(names)]
            lines += ["| " + " | ".join(call.values()) + " |"
                      for call in step["calls"]]
            lines.append("")
    lines += figure_lines(made["steps"])
    if made["measures"]:
        lines += tables.lines(made["measures"])
    counts = ", ".join(f"{count} {outcome}"
                       for outcome, count in made["counts"].items())
    end = "" if made["finished"] else ", not finished"
    return "\n".join([*lines, f"{made['outcome']}: {counts}{end}", ""])


def make(check, begin, is_finished):
    outcomes = [step["outcome"] for step in check.steps]
    return {**begin, **facts(check), "outcome": outcome_of(check.steps),
            "counts": {one: outcomes.count(one)
                       for one in (PASSED, FAILED, SKIPPED)},
            "finished": is_finished, "measures": check.measures,
            "steps": check.steps}

"""Writes A6.json and A6.md from the times that check_bare.sh measured.

Usage: bare_results.py TIMES DIR COMMIT

TIMES holds lines of round, script, seconds and exit status. Exits 1 when any
status is not 0, after writing.
"""

import datetime
import json
import os
import platform
import sys

ROUNDS = {
    "bare": "bare system, all downloads",
    "no_downloads": "everything installed, nothing built",
    "again": "once more",
}


def machine():
    """Returns what bears on the times, in the shape ferry-bench writes."""
    with open("/proc/cpuinfo", encoding="utf-8") as stream:
        facts = dict(line.split(":", 1) for line in stream if ":" in line)
    facts = {key.strip(): value.strip() for key, value in facts.items()}
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    flags = [flag for flag in facts.get("flags", "").split()
             if flag.startswith(("avx2", "avx512", "amx"))]
    return {
        "cpu": facts.get("model name", "unknown"),
        "cpu_flags": " ".join(flags),
        "cores": os.cpu_count(),
        "kernel": f"{platform.system()} {platform.release()}",
        "memory_gb": round(memory / 1e9),
    }


def main():
    times, folder, commit = sys.argv[1:]
    with open(times, encoding="utf-8") as stream:
        rows = [line.split() for line in stream]
    runs = [{"round": row[0], "command": f"scripts/{row[1]}",
             "seconds": int(row[2]), "status": int(row[3])} for row in rows]
    passed = all(run["status"] == 0 for run in runs) and bool(runs)
    result = {
        "name": "A6",
        "claim": "a fresh clone on a bare Debian 12 passes both commands",
        "passed": passed,
        "machine": machine(),
        "commit": commit,
        "date": datetime.datetime.now(datetime.timezone.utc)
                .strftime("%Y-%m-%dT%H:%M:%SZ"),
        "command": "scripts/check_bare.sh",
        "runs": runs,
    }
    with open(f"{folder}/A6.json", "w", encoding="utf-8") as stream:
        json.dump(result, stream, indent=2)
        stream.write("\n")
    with open(f"{folder}/A6.md", "w", encoding="utf-8") as stream:
        stream.write(page(result))
    print(page(result))
    return 0 if passed else 1


def page(result):
    it = result["machine"]
    lines = [
        "# A6: a fresh clone on a bare Debian 12",
        "",
        f"{'Passed' if result['passed'] else 'FAILED'}: {result['claim']}.",
        "",
        "| round | command | seconds | status |",
        "| --- | --- | ---: | ---: |",
    ]
    lines += [f"| {ROUNDS[run['round']]} | `{run['command']}` | "
              f"{run['seconds']} | {run['status']} |"
              for run in result["runs"]]
    lines += [
        "",
        f"Processor: {it['cpu']}, {it['cores']} cores, "
        f"{it['memory_gb']} GB, {it['kernel']}; "
        f"flags {it['cpu_flags'] or 'none of avx2, avx512, amx'}.",
        f"Commit {result['commit']}, {result['date']}, "
        f"`{result['command']}`.",
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())

"""Writes A6.json and A6.md from the times that check_bare.sh measured.

Usage: bare_results.py TIMES LOAD

TIMES holds lines of round, script, seconds and exit status; LOAD is what
/proc/loadavg said before. FERRY_RESULTS names the folder to write to. Exits 1
when any status is not 0, after writing.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "show"))
import measuring  # noqa: E402

ROUNDS = {
    "bare": "bare system, all downloads",
    "no_downloads": "everything installed, nothing built",
    "again": "once more",
}


def main():
    times, load = sys.argv[1:]
    rows = [line.split()
            for line in pathlib.Path(times).read_text().splitlines()]
    runs = [{"round": row[0], "command": f"scripts/{row[1]}",
             "seconds": int(row[2]), "status": int(row[3])} for row in rows]
    result = measuring.describe(
        "A6", "a fresh clone on a bare Debian 12 passes both commands",
        "scripts/check_bare.sh")
    result["machine"]["load_average"] = [
        float(value) for value in load.split()[:3]]
    result["passed"] = bool(runs) and all(run["status"] == 0 for run in runs)
    result["runs"] = runs
    measuring.write(result, measuring.table(
        ["round", "command", "seconds", "exit status"],
        [[ROUNDS[run["round"]], f"`{run['command']}`", run["seconds"],
          run["status"]] for run in runs]))
    return 0 if result["passed"] else 1


if __name__ == "__main__":
    sys.exit(main())

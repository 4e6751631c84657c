"""A5: a long mixed load over gRPC, and the same in process under TSan."""

import pathlib
import subprocess

import measuring

SECONDS = 600
TSAN_SECONDS = 60
MOST_SLOPE = 1.0  # MB a minute


def soak_over_grpc(options, seconds):
    """Returns ferry-bench soak's account of the running server."""
    programs = options.programs
    with measuring.server(programs, "--max-batch-size", 64,
                          "--queue-requests", 128) as child:
        point = measuring.closed_loop(programs, 64, 5)
        rate = max(50.0, 0.1 * point["achieved_rate"])
        measuring.say(f"soak of {seconds:.0f} s at {rate:.0f}/s, bursts of "
                      "5 times as much")
        command = ["soak", "-u", measuring.ADDRESS, "-m", "mlp",
                   "--duration-secs", str(seconds), "--rate", f"{rate:.0f}",
                   "--server-pid", str(child.pid), "--max-rss-slope", "1e9"]
        account = programs.json_of("ferry-bench", *command)
        exit_status = child.poll()
    if exit_status is not None:
        raise measuring.Failure(f"ferry-server ended with {exit_status}")
    return account


def soak_under_tsan(options, seconds):
    """Returns the batcher's soak and the count of TSan's reports."""
    program = pathlib.Path(options.tsan_bin) / "batcher_soak"
    if not program.exists():
        raise measuring.Failure(f"{program} does not exist; scripts/build.sh "
                                "tsan batcher_soak builds it")
    # TSan finds no place for its shadow where addresses are too random.
    done = subprocess.run(["setarch", "-R", str(program), "--seconds", str(seconds)],
                          capture_output=True, text=True, check=False,
                          env={"TSAN_OPTIONS": "halt_on_error=0 exitcode=66"})
    return {"reports": done.stderr.count("WARNING: ThreadSanitizer"),
            "exit": done.returncode, "output": done.stdout.strip(),
            "errors": done.stderr[-2000:]}


def passes(account, tsan):
    """Returns whether A5 holds; with memory that was not read it does not."""
    slope = account["rss_slope_mb_per_minute"]
    return (account["balances"] and slope is not None and slope < MOST_SLOPE
            and tsan["reports"] == 0 and tsan["exit"] == 0)


def measure(options):
    seconds = options.seconds or SECONDS
    result = measuring.describe(
        "A5", f"{seconds:.0f} s of mixed load with cancels and deadlines: "
        "sent = answered = sum by code, none twice; RSS grows less than "
        f"{MOST_SLOPE:.0f} MB a minute; 0 reports from TSan", options.command)
    account = soak_over_grpc(options, seconds)
    tsan = soak_under_tsan(options, min(seconds, TSAN_SECONDS))
    slope = account["rss_slope_mb_per_minute"]  # null: too few readings
    told = "not read" if slope is None else f"{slope:.3f} MB/min"
    result |= {"over_grpc": account, "under_tsan": tsan,
               "passed": passes(account, tsan)}
    page = (f"Over gRPC: sent {account['sent']}, answered "
            f"{account['answered']}, sum by code {account['sum_by_code']}, "
            f"answered twice {account['answered_twice']}, another's id "
            f"{account['wrong_id']}, another's rows {account['wrong_rows']}.\n"
            f"RSS slope after {account['rss_fitted_from_s']:.0f} s: "
            f"{told}.\n\n")
    page += measuring.table(["code", "answers"], account["by_code"].items())
    page += (f"\nIn process under TSan: {tsan['reports']} reports, exit "
             f"{tsan['exit']}.\n\n```\n{tsan['output']}\n```\n")
    return result, page

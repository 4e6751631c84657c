"""cluster: Ferry's manifests on a Kubernetes of one node, with clients that keep a
ledger. tests/cluster/scenarios.py does the work, on the node of scripts/cluster.sh.
"""

import json
import tempfile

import measuring
from shipping import newest_image

MOST_HANG_S = 20
MOST_ROLL_OUT_S = 240  # of two pods, each a minute and its start and end
LEAST_OK = 0.999


def has_asked(run):
    """Whether both clients have asked something, which "no failure" is of."""
    return len(run["clients"]) == 2 and all(
        counts["sent"] > 0 for counts in run["clients"].values())


def failed(counts):
    return counts["sent"] - counts["outcomes"].get("OK", 0)


def of_clients(label, run):
    """Returns a row for each client of a run."""
    return [[label, name, f"{counts['sent']:,}", failed(counts), counts["lost"],
             counts["twice"], counts["wrong"],
             ", ".join(f"{count} {code}" for code, count in
                       sorted(counts["outcomes"].items()) if code != "OK") or "-",
             f"{counts['latency_ms'].get('longest', 0) / 1e3:.1f}"]
            for name, counts in run["clients"].items()]


def checks(told):
    """Yields what is claimed, and whether it holds."""
    yield "each manifest is admitted", all(one["admitted"] for one in
                                           told["manifests"].values())
    yield "roll-outs fail no request without retries", all(
        has_asked(run) and failed(counts) == 0 for run in told["roll_out"]
        for counts in run["clients"].values())
    yield "none is lost, answered twice or with other rows", not any(
        counts[bad] for run in (*told["roll_out"], *told["kill"].values(),
                                told["drain"], told["lose_slice"], told["hang"])
        for counts in run["clients"].values() for bad in ("lost", "twice", "wrong"))
    yield (f"{LEAST_OK:.1%} of what clients of the headless Service ask are OK, with "
           "retries, while servers are killed, each once names tell the one before, "
           "while the node is drained and while a slice is gone", all(
               has_asked(run) and run["clients"]["headless"]["ok_ratio"] >= LEAST_OK
               for run in (told["kill"]["apart"], told["drain"], told["lose_slice"])))
    yield ("a pod whose slice is gone waits for another, and comes once there is one",
           told["lose_slice"]["phases"] == ["Pending", "Running"])
    yield ("a node's drain ends, and takes each pod once",
           told["drain"]["exit_code"] == 0 and told["drain"]["pods_replaced"] == 2)
    yield (f"a server that is stopped is gone within {MOST_HANG_S} s",
           max(one["gone_s"] for one in told["hang"]["tries"]) <= MOST_HANG_S)
    yield ("a roll-out that does not fit goes on once no more are asked for than fit",
           not told["too_many"]["ended"] and
           told["too_many"]["scaled_down_ends_s"] < MOST_ROLL_OUT_S)
    yield "the autoscaler's counts are right", all(
        one["replicas"] == one["right"] for one in told["autoscale"])
    yield "seven claims have a slice each, the eighth waits", (
        len(set(told["claims"]["given"])) == len(told["claims"]["given"]) == 7)
    yield "a limit alone gets a slice by the class", (
        len(told["claims"]["by_limit"]) == 1)


def page_of(told, held):
    version = told["version"]["serverVersion"]["gitVersion"]
    page = (f"Kubernetes {version} ({', '.join(told['parts'])}), one node; pods on the "
            "processor. Clients ask the Service (ClusterIP) and the headless one, each "
            "over four connections; with retries by the policy and options of "
            "docs/reliability.md, without retries as plain as can be. Names are kept "
            "for 30 s, as CoreDNS does by default: clients begin 35 s after the pods "
            "are ready, and a server is killed 35 s after the one before is ready; in "
            "a row at once, of which no more is claimed than that none is lost. Lost is "
            "what has no outcome, or none but the client's own deadline; of what fails "
            "otherwise the client knows. Each slice is taken in the roll-outs. Devices "
            "are simulated, slices synthetic.\n\nAll that deploy/kubernetes has is "
            "applied, but for batch_job.yaml; the Deployment with `--device=cpu`, its "
            "own number of replicas, 0.1 processors and 512 MiB asked for, at most "
            "1 GiB, and no image pulled. The network's bridge does not enforce the "
            "NetworkPolicy. With one node a drain ends once the script gives the node "
            "back, as soon as the first pod has gone.\n\n")
    page += measuring.table(["claim", "holds"], [
        [what, "yes" if holds else "**no**"] for what, holds in held])
    rows = [row for run in told["roll_out"]
            for row in of_clients(f"roll-out to {run['to']}, no retries", run)]
    in_a_row, apart = told["kill"]["in_a_row"], told["kill"]["apart"]
    for label, run in ((f"{in_a_row['kills']} kills in a row", in_a_row),
                       (f"{apart['kills']} kills", apart),
                       ("node drained", told["drain"]),
                       ("slice gone", told["lose_slice"]),
                       ("server stopped", told["hang"])):
        rows += of_clients(label, run)
    page += "\n" + measuring.table(
        ["what happens", "client", "sent", "failed", "lost", "twice", "wrong", "codes",
         "longest, s"], rows)
    hang = {key: "".join(f", {one[key]:.1f}" for one in told["hang"]["tries"])[2:]
            for key in ("not_ready_s", "gone_s", "ready_s")}
    page += ("\nA roll-out of two pods took "
             f"{', '.join(str(round(run['seconds'])) for run in told['roll_out'])} s. "
             "With the slice back, both pods were ready after "
             f"{told['lose_slice']['back_s']:.0f} s. "
             f"Stopped servers were not ready after {hang['not_ready_s']} s, gone "
             f"after {hang['gone_s']} s, and others ready after {hang['ready_s']} s, "
             "Kubernetes' back-off among it. Three replicas on two slices: a roll-out "
             f"{'ended' if told['too_many']['ended'] else 'did not end'} in 90 s, and "
             f"ended {told['too_many']['scaled_down_ends_s']:.0f} s after "
             "`kubectl scale --replicas=2`.\n\nThe autoscaler on the load, with the "
             "target of deploy/kubernetes/autoscaler.yaml, but one to four replicas, "
             "75 s before it scales down and connections of 10 s in place of five "
             "minutes each; the wait's target is 1 s, as this device's batches take "
             "0.2 s. The load is of what four carry:\n\n")
    page += measuring.table(["load", "rows/s", "replicas", "right"], [
        [one["load"], f"{one['rows_per_second']:.0f}", one["replicas"], one["right"]]
        for one in told["autoscale"]])
    page += (f"\nClaims of slices: {', '.join(told['claims']['given'])} were given; "
             f"{told['claims']['waits']} waited: {told['claims']['why']}\n\nManifests, "
             "as the server takes them in a dry run, strict:\n\n")
    page += measuring.table(["manifest", "admitted"], [
        [name, "yes" if one["admitted"] else one["said"]]
        for name, one in told["manifests"].items()])
    page += "\nEvents that Kubernetes told of all this:\n\n"
    return page + measuring.table(["event", "times"], list(told["events"].items()))


def measure(options):
    result = measuring.describe(
        "cluster", "on a Kubernetes of one node: roll-outs fail no request without "
        "retries; with them kills, a drained node, a slice that goes and a stopped "
        "server lose none; the autoscaler's counts are right; claims give each pod a "
        "slice", options.command)
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        measuring.run(["scripts/cluster.sh", "--image", newest_image("ferry"),
                       measuring.ROOT / ".venv/bin/python",
                       measuring.ROOT / "tests/cluster/scenarios.py", file.name],
                      cwd=measuring.ROOT)
        told = json.load(file)
    held = list(checks(told))
    result["told"] = told
    result["passed"] = all(holds for _, holds in held)
    return result, page_of(told, held)

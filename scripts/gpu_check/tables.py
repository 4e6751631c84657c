"""The measurements as tables of text, with what is asked of a device beside
them."""

MOST_IDLE_US, LEAST_SHARE = 20, 0.90
H200_TFLOPS = 790  # in bf16, of its matrix products


def text_of(value, digits=1):
    if value is None:
        return "-"
    return f"{value:.{digits}f}" if isinstance(value, float) else str(value)


def table(heads, rows):
    """Returns the lines of a Markdown table."""
    return ["| " + " | ".join(heads) + " |", "|" + " --- |" * len(heads),
            *("| " + " | ".join(row) + " |" for row in rows), ""]


OFFLINE = (("rows", "rows", 0), ("rows/s", "rows_per_second", 1),
           ("copy in ms", "stage_ms", 3), ("compute ms", "compute_ms", 3),
           ("batch ms", "total_ms", 3), ("idle ms", "idle_ms", 3),
           ("busy", "busy_ratio", 3), ("copy in hidden", "copy_in_hidden", 3),
           ("TFLOP/s", "tflops", 2), ("computing", "tflops_computing", 2),
           ("of peak", "share_of_peak", 3))


def offline_table(of):
    """Of the batches of each mode."""
    return table(["mode", *(head for head, _, _ in OFFLINE)],
                 [[mode, *(text_of(one.get(key), digits)
                           for _, key, digits in OFFLINE)]
                  for mode, batches in of.items() for one in batches])


def served_row(name, served):
    at = served["at_found"] or {}
    device = at.get("device") or {}
    return [name, str(served["max_batch_size"]),
            text_of(served["found_rate"]), text_of(at.get("p99_ms"), 2),
            text_of(served["share_of_offline"], 3),
            text_of(at.get("mean_rows"), 2), text_of(at.get("busy_ratio"), 3),
            text_of(device.get("sm_ratio"), 3),
            text_of(device.get("tensor_ratio"), 3),
            text_of(device.get("utilization"), 3)]


def rate_table(head, found):
    """Of pairs of a title and what a search came to."""
    return table(
        [head, "max batch", "requests/s", "p99 ms", "of offline",
         "mean rows", "busy", "SM", "tensor", "utilization"],
        [served_row(title, one) for title, one in found])


def network_lines(name, of, on_device):
    gflop = of["flop_per_row"] / 1e9
    yield (f"{name}, in this process: {gflop:.3f} GFLOP a row "
           f"({of['formula']})")
    yield from offline_table(of["offline"])
    if of["package"]:
        yield f"{name} as an AOTInductor package, in this process"
        yield from offline_table(of["package"])
    if of["in_process"]:
        yield (f"{name}, in this process through the batcher: the highest "
               f"Poisson rate with p99 within {of['in_process']['limit_ms']:g} "
               "ms")
        yield from rate_table("load", [("in process", of["in_process"])])
    served = [(title, of[key]) for title, key in
              (("on", "served"), ("off", "served_without_batching"))
              if of[key]]
    if served:
        yield (f"{name}, over loopback: the highest Poisson rate with p99 "
               f"within {served[0][1]['limit_ms']:g} ms")
        yield from rate_table("batching", served)
    asked = list(asked_lines(name, of, on_device))
    yield from asked
    if asked:
        yield ""
    if of["batching_gain"]:
        yield f"{name}: {of['batching_gain']:.2f} times the rate with batching"
        yield ""


def holds(does):
    return "holds" if does else "does not hold"


def asked_lines(name, of, on_device):
    """What is asked of a network on a device (docs/devices.md), and what came."""
    graphs = of["offline"].get("graphs") or ()
    if on_device and graphs and "idle_ms" in graphs[0]:
        best = max(graphs, key=lambda one: one["rows_per_second"])
        idle_us = 1e3 * best["idle_ms"]
        yield (f"{name}: idle between batches of {best['rows']}: "
               f"{idle_us:.1f} us; asked: at most {MOST_IDLE_US}: "
               f"{holds(idle_us <= MOST_IDLE_US)}")
        yield (f"{name}: {best['tflops']:.1f} TFLOP/s with graphs, "
               f"{best['tflops'] / H200_TFLOPS:.3f} of the {H200_TFLOPS} that "
               "an H200 reaches")
    for where, key, asked in (("in process", "in_process", LEAST_SHARE),
                              ("over loopback", "served", None)):
        if of[key]:
            share = of[key]["share_of_offline"]
            line = f"{name}: share of offline, {where}: {text_of(share, 3)}"
            if asked and on_device:
                is_enough = share is not None and share >= asked
                line += f"; asked: at least {asked}: {holds(is_enough)}"
            yield line


def copy_in_lines(ways):
    yield "rows to the device: gathered first, or from pinned memory as they lie"
    yield from table(["batch", "way", "us", "us of the thread", "GB/s"],
                     [[one["batch"], one["way"], text_of(one["total_us"]),
                       text_of(one["host_us"]),
                       text_of(one["gbytes_per_second"], 2)] for one in ways])


def one_row(mode, one):
    forward, served = one["forward"] or {}, one["served"] or {}
    return [mode, *(text_of(forward.get(key), 3)
                    for key in ("stage_ms", "compute_ms", "total_ms")),
            text_of(served.get("p50_ms"), 3), text_of(served.get("p99_ms"), 3)]


def lines(measures):
    """Returns the lines of what there is."""
    yield f"measured on {measures['device']}"
    peak = measures["matmul_peak"]
    if peak:
        yield (f"matrix products of {peak['size']} in bf16: "
               f"{peak['tflops']:.1f} TFLOP/s, by torch {peak['torch']}")
    yield ""
    for name, of in measures["networks"].items():
        if (of["offline"] or of["in_process"] or of["served"] or
                of["package"]):
            yield from network_lines(name, of, measures["device"] != "cpu")
    for folder, of in measures["packages"].items():
        if of:
            yield f"{folder}, in this process"
            yield from offline_table(of)
    for name, of in measures["one_outstanding"].items():
        if any(one["forward"] or one["served"] for one in of.values()):
            yield f"{name}, one request at a time: medians, p99 where it says so"
            yield from table(["mode", "copy in ms", "compute ms", "batch ms",
                              "served p50 ms", "served p99 ms"],
                             [one_row(mode, one) for mode, one in of.items()])
    if measures["copy_in"]:
        yield from copy_in_lines(measures["copy_in"])

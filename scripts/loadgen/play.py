"""One scenario by LoadGen: its settings, its run, and what its logs say."""

import json
import os
import resource
import time

import mlperf_loadgen as loadgen

import system

SCENARIOS = {"single-stream": loadgen.TestScenario.SingleStream,
             "multi-stream": loadgen.TestScenario.MultiStream,
             "server": loadgen.TestScenario.Server,
             "offline": loadgen.TestScenario.Offline}
PROBES = 10
# What its keys begin with in the detailed log.
RESULTS = ("result_", "early_stopping_", "generated_", "num_errors")


def alone_ns(model, rows):
    """Returns the shortest time of a few requests one after the other."""
    inputs = model.inputs([0] * rows)
    times = []
    for _ in range(PROBES):
        begin = time.perf_counter_ns()
        model.client.infer(model.name, inputs)
        times.append(time.perf_counter_ns() - begin)
    return min(times)


def settings_of(options, model):
    settings = loadgen.TestSettings()
    settings.scenario = SCENARIOS[options.scenario]
    settings.mode = loadgen.TestMode.PerformanceOnly
    settings.min_duration_ms = round(options.min_duration_secs * 1e3)
    settings.min_query_count = options.min_queries
    settings.qsl_rng_seed = options.seed
    settings.sample_index_rng_seed = options.seed + 1
    settings.schedule_rng_seed = options.seed + 2
    # LoadGen makes its queries before it begins: as many as the shortest
    # latency allows. Half of it, as an estimate that is too long ends too soon.
    if options.scenario == "single-stream":
        settings.single_stream_expected_latency_ns = alone_ns(model, 1) // 2
    elif options.scenario == "multi-stream":
        rows = options.samples_per_query
        settings.multi_stream_samples_per_query = rows
        settings.multi_stream_expected_latency_ns = alone_ns(
            model, min(rows, model.most_rows)) // 2
    elif options.scenario == "server":
        settings.server_target_qps = options.target_qps
        settings.server_target_latency_ns = round(options.latency_ms * 1e6)
    else:
        settings.offline_expected_qps = options.target_qps
    return settings


def read_summary(folder):
    """Returns LoadGen's summary as it wrote it."""
    with open(os.path.join(folder, "mlperf_log_summary.txt"),
              encoding="utf-8") as stream:
        return stream.read()


def read_results(folder):
    """Returns the results in LoadGen's detailed log, by key."""
    values = {}
    with open(os.path.join(folder, "mlperf_log_detail.txt"),
              encoding="utf-8") as stream:
        for line in stream:
            if line.startswith(":::MLLOG "):
                entry = json.loads(line.removeprefix(":::MLLOG "))
                if entry["key"].startswith(RESULTS):
                    values[entry["key"]] = entry["value"]
    return values


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def play(options, model, folder):
    """Runs it; returns what LoadGen says and what the server counted."""
    under_test = system.System(model, options.outstanding)
    settings = settings_of(options, model)
    logs = loadgen.LogSettings()
    logs.log_output.outdir = folder
    logs.log_output.copy_summary_to_stdout = False
    logs.enable_trace = False
    sut = loadgen.ConstructSUT(under_test.issue, under_test.flush)
    qsl = loadgen.ConstructQSL(options.samples, options.samples,
                               under_test.load, under_test.unload)
    before, used = model.counted(), processor_seconds()
    loadgen.StartTestWithLogSettings(sut, qsl, settings, logs)
    used = processor_seconds() - used
    after = model.counted()
    loadgen.DestroyQSL(qsl)
    loadgen.DestroySUT(sut)
    results = read_results(folder)
    queries = results["result_query_count"]
    return {"summary": read_summary(folder), "results": results,
            "is_valid": results["result_validity"] == "VALID",
            "queries": queries,
            "samples": queries * results["generated_samples_per_query"],
            "requests": under_test.requests, "failed": under_test.failed,
            "failure": under_test.failure,
            "cpu_us": used / max(under_test.requests, 1) * 1e6,
            "server": {key: after[key] - before[key] for key in after}}

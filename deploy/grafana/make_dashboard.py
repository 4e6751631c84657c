"""Writes the dashboard ferry.json, by Grafana's own library.

  scripts/dashboard.sh > deploy/grafana/ferry.json
"""

from grafana_foundation_sdk.builders import dashboard, prometheus, timeseries
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import DataSourceRef

SOURCE = DataSourceRef(type_val="prometheus", uid="${datasource}")
OF_JOB = '{job="$job"}'
HEIGHT, SPAN = 8, 8  # three panels a line
REQUESTS = "ferry_request_seconds_bucket"

# The rows and their panels: title, unit, and (legend, expression) of each line.
ROWS = {
    "What was promised": (
        ("Load: what arrives, of what the device carries", "percentunit",
         ("{{instance}}", "ferry:load" + OF_JOB),
         ("{{instance}}, busy: no load", "ferry:busy" + OF_JOB)),
        ("Requests that were answered well, and that were asked", "reqps",
         ("{{model}}, well", "ferry:good_requests:rate5m" + OF_JOB),
         ("{{model}}, asked", "ferry:asked_requests:rate5m" + OF_JOB)),
        ("Times that the objective is burnt too fast", "none",
         ("{{model}}, 5 minutes", "ferry:burn:rate5m" + OF_JOB),
         ("{{model}}, 1 hour", "ferry:burn:rate1h" + OF_JOB)),
        ("Request time", "s",
         *((f"{{{{model}}}}, p{quantile:.0%}".replace("%", ""),
            f"histogram_quantile({quantile}, sum by (model, le) "
            f"(rate({REQUESTS}{OF_JOB}[$__rate_interval])))")
           for quantile in (0.5, 0.99))),
        ("Errors", "reqps",
         ("{{model}}, {{code}}",
          'sum by (model, code) (rate(ferry_requests_total{job="$job",'
          'code!="OK"}[$__rate_interval]))')),
        ("Refused", "reqps",
         ("{{model}}, {{reason}}",
          "sum by (model, reason) (rate(ferry_refused_total" + OF_JOB +
          "[$__rate_interval]))")),
    ),
    "Batching": (
        ("Rows a second: what arrives, and what is carried", "none",
         ("{{model}}, arrived", "sum by (model) (rate(ferry_arrived_rows_total" +
          OF_JOB + "[$__rate_interval]))"),
         ("{{model}}, carried", "sum by (model) (ferry_capacity_rows_per_second" +
          OF_JOB + ")")),
        ("Rows of a batch", "none",
         ("{{model}}",
          "sum by (model) (rate(ferry_batch_rows_sum" + OF_JOB +
          "[$__rate_interval])) / sum by (model) (rate(ferry_batch_rows_count" +
          OF_JOB + "[$__rate_interval]))")),
        ("Why batches closed", "ops",
         ("{{reason}}", "sum by (reason) (rate(ferry_batches_closed_total" +
          OF_JOB + "[$__rate_interval]))")),
        ("Queue wait, p99", "s",
         ("{{model}}", "ferry:queue_wait_seconds:p99" + OF_JOB)),
        ("Queued requests", "none",
         ("{{model}}", "sum by (model) (ferry_queue_requests" + OF_JOB + ")")),
        ("Where the time goes, mean", "s",
         *((f"{{{{model}}}}, {part}",
            f"sum by (model) (rate(ferry_{part}_seconds_sum{OF_JOB}"
            "[$__rate_interval])) / sum by (model) (rate("
            f"ferry_{part}_seconds_count{OF_JOB}[$__rate_interval]))")
           for part in ("queue_wait", "stage", "compute", "deliver"))),
    ),
    "Device": (
        ("Memory", "bytes",
         ("{{uuid}}, {{kind}}", "ferry_device_memory_bytes" + OF_JOB)),
        ("Multiprocessors, tensor cores, memory bandwidth", "percentunit",
         *((f"{{{{uuid}}}}, {part}", f"ferry_gpm_{part}_ratio{OF_JOB}")
           for part in ("sm", "tensor", "dram"))),
        ("Power of the whole GPU", "watt",
         ("{{uuid}}", "max by (uuid) (ferry_gpu_power_watts" + OF_JOB + ")"),
         ("{{uuid}}, limit",
          "max by (uuid) (ferry_gpu_power_limit_watts" + OF_JOB + ")")),
        ("Temperature", "celsius",
         ("{{uuid}}",
          "max by (uuid) (ferry_gpu_temperature_celsius" + OF_JOB + ")")),
        ("Age of the readings", "s",
         ("{{instance}}", "ferry_device_reading_age_seconds" + OF_JOB)),
        ("Graphs, and batches without memory", "ops",
         ("{{model}}, {{event}}",
          "sum by (model, event) (rate(ferry_device_events_total" + OF_JOB +
          "[$__rate_interval]))")),
    ),
    "Money": (
        ("An hour costs; of that for devices that wait", "none",
         ("in all", f"count(ferry:load{OF_JOB}) * $price"),
         ("idle", f"sum(1 - clamp_max(ferry:load{OF_JOB}, 1)) * $price")),
        ("A million rows cost", "none",
         ("at this load",
          f"count(ferry:load{OF_JOB}) * $price / 3600 / "
          f"sum(rate(ferry_rows_total{OF_JOB}[$__rate_interval])) * 1e6"),
         ("at full load",
          f"count(ferry:load{OF_JOB}) * $price / 3600 / "
          f"sum(ferry_capacity_rows_per_second{OF_JOB}) * 1e6")),
        ("Servers: there are, and the load calls for", "none",
         ("there are", f"count(ferry:load{OF_JOB})"),
         ("the load calls for", "ferry:replicas_wanted" + OF_JOB)),
    ),
}


def panel(title, unit, *targets):
    shown = (timeseries.Panel().title(title).unit(unit).datasource(SOURCE)
             .height(HEIGHT).span(SPAN).min(0))
    for number, (legend, expression) in enumerate(targets):
        shown.with_target(prometheus.Dataquery().expr(expression)
                          .legend_format(legend).ref_id(chr(ord("A") + number)))
    return shown


def build():
    made = (
        dashboard.Dashboard("Ferry").uid("ferry").tags(["ferry", "inference"])
        .refresh("30s").time("now-1h", "now").timezone("browser")
        .with_variable(dashboard.DatasourceVariable("datasource")
                       .type("prometheus"))
        .with_variable(dashboard.TextBoxVariable("job")
                       .label("job of the scrapes").default_value("ferry"))
        .with_variable(dashboard.TextBoxVariable("price")
                       .label("price of a device an hour").default_value("0")))
    for name, panels in ROWS.items():
        made.with_row(dashboard.Row(name))
        for one in panels:
            made.with_panel(panel(*one))
    return made.build()


if __name__ == "__main__":
    print(JSONEncoder(sort_keys=True, indent=1).encode(build()))

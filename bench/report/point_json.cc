// Implements PointToJson() and PointFromJson(): one function each way for each
// struct; unknown keys are ignored.
#include "bench/report/point_json.h"

#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "bench/report/device_json.h"

namespace ferry::bench {
namespace {

Json LatencyToJson(const LatencySummary& latency) {
  return {{"p50_us", latency.p50_us},   {"p90_us", latency.p90_us},
          {"p95_us", latency.p95_us},   {"p99_us", latency.p99_us},
          {"p999_us", latency.p999_us}, {"p9999_us", latency.p9999_us},
          {"max_us", latency.max_us},   {"mean_us", latency.mean_us}};
}

LatencySummary LatencyFromJson(const Json& json) {
  LatencySummary latency;
  json.at("p50_us").get_to(latency.p50_us);
  json.at("p90_us").get_to(latency.p90_us);
  latency.p95_us = json.value("p95_us", 0.0);  // older files lack it
  json.at("p99_us").get_to(latency.p99_us);
  json.at("p999_us").get_to(latency.p999_us);
  latency.p9999_us = json.value("p9999_us", 0.0);
  json.at("max_us").get_to(latency.max_us);
  json.at("mean_us").get_to(latency.mean_us);
  return latency;
}

Json IntervalToJson(const std::optional<Interval>& interval) {
  return interval.has_value() ? Json({interval->low_us, interval->high_us})
                              : Json(nullptr);
}

// Files of before there were intervals lack them.
std::optional<Interval> IntervalFromJson(const Json& json, const char* key) {
  if (!json.contains(key) || json.at(key).is_null()) {
    return std::nullopt;
  }
  const Json degrees = json.value("degrees_95", Json::object());
  return Interval{json.at(key).at(0).get<double>(),
                  json.at(key).at(1).get<double>(), degrees.value(key, 0.0)};
}

// Writes those of the intervals that there are.
void AddDegrees(const PointResult& point, Json& json) {
  Json degrees = Json::object();
  for (const auto& [key, interval] :
       {std::pair{"mean_95_us", &point.mean_interval},
        std::pair{"p50_95_us", &point.p50_interval},
        std::pair{"p99_95_us", &point.p99_interval}}) {
    if (interval->has_value() && (*interval)->degrees > 0) {
      degrees[key] = (*interval)->degrees;
    }
  }
  if (!degrees.empty()) {
    json["degrees_95"] = std::move(degrees);
  }
}

Json SeriesToJson(const std::vector<SliceSummary>& series) {
  Json slices = Json::array();
  for (const SliceSummary& slice : series) {
    slices.push_back({{"end_s", slice.end_s},
                      {"planned", slice.planned},
                      {"failed", slice.failed},
                      {"p50_us", slice.p50_us},
                      {"p99_us", slice.p99_us},
                      {"lag_p50_us", slice.lag_p50_us},
                      {"lag_p99_us", slice.lag_p99_us}});
  }
  return slices;
}

std::vector<SliceSummary> SeriesFromJson(const Json& json) {
  std::vector<SliceSummary> series;
  for (const Json& slice : json.value("series", Json::array())) {
    series.push_back({.end_s = slice.at("end_s").get<double>(),
                      .planned = slice.at("planned").get<uint64_t>(),
                      .failed = slice.at("failed").get<uint64_t>(),
                      .p50_us = slice.at("p50_us").get<double>(),
                      .p99_us = slice.at("p99_us").get<double>(),
                      // Older files lack these.
                      .lag_p50_us = slice.value("lag_p50_us", 0.0),
                      .lag_p99_us = slice.value("lag_p99_us", 0.0)});
  }
  return series;
}

Json HistogramToJson(const HistogramRecord& histogram) {
  Json buckets = Json::array();
  for (const HistogramRecord::Bucket& bucket : histogram.buckets) {
    buckets.push_back({bucket.highest_ns, bucket.count});
  }
  return {{"count", histogram.count},
          {"sum_ns", histogram.sum_ns},
          {"min_ns", histogram.min_ns},
          {"max_ns", histogram.max_ns},
          {"buckets", std::move(buckets)}};
}

// Empty where the file is older, or nothing was counted.
HistogramRecord HistogramFromJson(const Json& json, const char* key) {
  HistogramRecord histogram;
  if (!json.contains(key)) {
    return histogram;
  }
  const Json& from = json.at(key);
  from.at("count").get_to(histogram.count);
  from.at("sum_ns").get_to(histogram.sum_ns);
  histogram.min_ns = from.value("min_ns", uint64_t{0});
  from.at("max_ns").get_to(histogram.max_ns);
  for (const Json& bucket : from.at("buckets")) {
    histogram.buckets.push_back(
        {bucket.at(0).get<uint64_t>(), bucket.at(1).get<uint64_t>()});
  }
  return histogram;
}

void AddHistograms(const PointHistograms& histograms, Json& point) {
  if (histograms.latency.count > 0) {
    point["histogram"] = HistogramToJson(histograms.latency);
  }
  Json others = Json::object();
  for (const auto& [key, histogram] :
       {std::pair{"from_send", &histograms.latency_from_send},
        std::pair{"failed", &histograms.failed_latency},
        std::pair{"send_lag", &histograms.send_lag}}) {
    if (histogram->count > 0) {
      others[key] = HistogramToJson(*histogram);
    }
  }
  if (!others.empty()) {
    point["histograms"] = std::move(others);
  }
}

PointHistograms HistogramsFromJson(const Json& point) {
  PointHistograms histograms;
  histograms.latency = HistogramFromJson(point, "histogram");
  const Json others = point.value("histograms", Json::object());
  histograms.latency_from_send = HistogramFromJson(others, "from_send");
  histograms.failed_latency = HistogramFromJson(others, "failed");
  histograms.send_lag = HistogramFromJson(others, "send_lag");
  return histograms;
}

// What the server does not tell is left out.
void AddServer(const PointResult& point, Json& json) {
  Json server = Json::object();
  if (point.server_times.has_value()) {
    server["queue_us"] = point.server_times->queue_us;
    server["compute_input_us"] = point.server_times->compute_input_us;
    server["compute_infer_us"] = point.server_times->compute_infer_us;
    server["compute_output_us"] = point.server_times->compute_output_us;
  }
  for (const auto& [rows, executions] : point.batches) {
    server["batches"][std::to_string(rows)] = executions;
  }
  if (!point.closed.empty()) {
    server["close_reasons"] = point.closed;
  }
  if (!server.empty()) {
    json["server"] = std::move(server);
  }
}

void ServerFromJson(const Json& json, PointResult& point) {
  const Json server = json.value("server", Json::object());
  if (server.contains("queue_us")) {
    point.server_times = {server.at("queue_us").get<double>(),
                          server.at("compute_input_us").get<double>(),
                          server.at("compute_infer_us").get<double>(),
                          server.at("compute_output_us").get<double>()};
  }
  const Json batches = server.value("batches", Json::object());
  for (const auto& [rows, executions] : batches.items()) {
    uint64_t size = 0;
    if (absl::SimpleAtoi(rows, &size)) {
      point.batches[size] = executions.get<uint64_t>();
    }
  }
  point.closed = server.value("close_reasons", CloseReasons());
}

Json ClassesToJson(const std::vector<ClassSummary>& classes) {
  Json all = Json::array();
  for (const ClassSummary& one : classes) {
    all.push_back({{"planned", one.planned},
                   {"ok", one.ok},
                   {"errors", one.errors},
                   {"latency", LatencyToJson(one.latency)}});
    if (one.histogram.count > 0) {
      all.back()["histogram"] = HistogramToJson(one.histogram);
    }
  }
  return all;
}

std::vector<ClassSummary> ClassesFromJson(const Json& json) {
  std::vector<ClassSummary> classes;
  for (const Json& one : json.value("classes", Json::array())) {
    ClassSummary& read = classes.emplace_back();
    one.at("planned").get_to(read.planned);
    one.at("ok").get_to(read.ok);
    one.at("errors").get_to(read.errors);
    read.latency = LatencyFromJson(one.at("latency"));
    read.histogram = HistogramFromJson(one, "histogram");
  }
  return classes;
}

}  // namespace

Json OptionalToJson(const std::optional<double>& value) {
  return value.has_value() ? Json(*value) : Json(nullptr);
}

std::optional<double> OptionalFromJson(const Json& json) {
  return json.is_null() ? std::nullopt : std::optional(json.get<double>());
}

Json PointToJson(const PointResult& point) {
  Json json = {{"loop", point.loop},
               {"arrivals", point.arrivals},
               {"outstanding", point.outstanding},
               {"target_rate", point.target_rate},
               {"offered_rate", point.offered_rate},
               {"achieved_rate", point.achieved_rate},
               {"goodput_rate", OptionalToJson(point.goodput_rate)},
               {"load", OptionalToJson(point.load)},
               {"query_rows", point.query_rows},
               {"rows_rate", OptionalToJson(point.rows_rate)},
               {"window_s", point.window_s},
               {"begun", point.begun},
               {"seed", point.seed},
               {"planned", point.planned},
               {"ok", point.ok},
               {"errors", point.errors},
               {"latency", LatencyToJson(point.latency)},
               {"latency_from_send", LatencyToJson(point.latency_from_send)},
               {"failed_latency", LatencyToJson(point.failed_latency)},
               {"send_lag", LatencyToJson(point.send_lag)},
               {"mean_95_us", IntervalToJson(point.mean_interval)},
               {"p50_95_us", IntervalToJson(point.p50_interval)},
               {"p99_95_us", IntervalToJson(point.p99_interval)},
               {"series", SeriesToJson(point.series)},
               {"unsteady", point.unsteady},
               {"classes", ClassesToJson(point.classes)},
               {"mean_rows", OptionalToJson(point.mean_rows)},
               {"busy_ratio", OptionalToJson(point.busy_ratio)},
               {"busy_source", point.busy_source},
               {"purpose", point.purpose},
               {"void_reason", point.void_reason},
               {"interrupted", point.interrupted}};
  AddDegrees(point, json);
  AddServer(point, json);
  AddDevice(point.device, json);
  AddHistograms(point.histograms, json);
  return json;
}

PointResult PointFromJson(const Json& json) {
  PointResult point;
  json.at("loop").get_to(point.loop);
  point.arrivals = json.value("arrivals", "");  // older files have none
  json.at("outstanding").get_to(point.outstanding);
  json.at("target_rate").get_to(point.target_rate);
  json.at("offered_rate").get_to(point.offered_rate);
  json.at("achieved_rate").get_to(point.achieved_rate);
  point.goodput_rate =
      OptionalFromJson(json.value("goodput_rate", Json(nullptr)));
  point.load = OptionalFromJson(json.at("load"));
  point.query_rows = json.value("query_rows", uint64_t{0});
  point.rows_rate = OptionalFromJson(json.value("rows_rate", Json(nullptr)));
  json.at("window_s").get_to(point.window_s);
  point.begun = json.value("begun", "");
  json.at("seed").get_to(point.seed);
  json.at("planned").get_to(point.planned);
  json.at("ok").get_to(point.ok);
  json.at("errors").get_to(point.errors);
  point.latency = LatencyFromJson(json.at("latency"));
  point.latency_from_send = LatencyFromJson(json.at("latency_from_send"));
  point.failed_latency = LatencyFromJson(json.at("failed_latency"));
  point.send_lag = LatencyFromJson(json.at("send_lag"));
  point.histograms = HistogramsFromJson(json);
  point.mean_interval = IntervalFromJson(json, "mean_95_us");
  point.p50_interval = IntervalFromJson(json, "p50_95_us");
  point.p99_interval = IntervalFromJson(json, "p99_95_us");
  point.series = SeriesFromJson(json);
  point.unsteady = json.value("unsteady", "");
  point.classes = ClassesFromJson(json);
  point.mean_rows = OptionalFromJson(json.at("mean_rows"));
  point.busy_ratio = OptionalFromJson(json.at("busy_ratio"));
  json.at("busy_source").get_to(point.busy_source);
  ServerFromJson(json, point);
  point.device = DeviceSummaryOf(json);
  point.purpose = json.value("purpose", "");
  json.at("void_reason").get_to(point.void_reason);
  json.at("interrupted").get_to(point.interrupted);
  return point;
}

}  // namespace ferry::bench

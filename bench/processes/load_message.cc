// Implements Encode() and its like: CBOR; the stamps, of which there may be
// millions, as they lie in memory.
#include "bench/processes/load_message.h"

#include <cstring>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/load/histogram_record.h"

namespace ferry::bench {
namespace {

using Json = nlohmann::json;

static_assert(std::is_trivially_copyable_v<Stamp>);

Json HistogramToJson(const LatencyHistogram& histogram) {
  const HistogramRecord record = RecordOf(histogram);
  Json buckets = Json::array();
  for (const HistogramRecord::Bucket& bucket : record.buckets) {
    buckets.push_back(bucket.highest_ns);
    buckets.push_back(bucket.count);
  }
  return {record.count, record.sum_ns, record.min_ns, record.max_ns, buckets};
}

absl::Status HistogramFromJson(const Json& json, LatencyHistogram& histogram) {
  HistogramRecord record = {.count = json.at(0).get<uint64_t>(),
                            .sum_ns = json.at(1).get<uint64_t>(),
                            .min_ns = json.at(2).get<uint64_t>(),
                            .max_ns = json.at(3).get<uint64_t>(),
                            .buckets = {}};
  const Json& buckets = json.at(4);
  for (size_t i = 0; i + 1 < buckets.size(); i += 2) {
    record.buckets.push_back(
        {buckets[i].get<uint64_t>(), buckets[i + 1].get<uint64_t>()});
  }
  auto restored = Restore(record);
  if (!restored.ok()) {
    return restored.status();
  }
  histogram = *restored;
  return absl::OkStatus();
}

Json StampsToJson(const std::deque<Stamp>& stamps) {
  std::vector<uint8_t> bytes(stamps.size() * sizeof(Stamp));
  size_t at = 0;
  for (const Stamp& stamp : stamps) {
    std::memcpy(bytes.data() + at, &stamp, sizeof stamp);
    at += sizeof stamp;
  }
  return Json::binary(std::move(bytes));
}

std::deque<Stamp> StampsFromJson(const Json& json) {
  const std::vector<uint8_t>& bytes = json.get_binary();
  std::deque<Stamp> stamps(bytes.size() / sizeof(Stamp));
  size_t at = 0;
  for (Stamp& stamp : stamps) {
    std::memcpy(&stamp, bytes.data() + at, sizeof stamp);
    at += sizeof stamp;
  }
  return stamps;
}

Json LoadToJson(const LoadResult& load) {
  Json json = {{"latency", HistogramToJson(load.latency)},
               {"from_send", HistogramToJson(load.latency_from_send)},
               {"failed_latency", HistogramToJson(load.failed_latency)},
               {"send_lag", HistogramToJson(load.send_lag)},
               {"ended", load.ended},
               {"planned", load.planned},
               {"not_sent", load.not_sent},
               {"held_back", load.held_back},
               {"unanswered", load.unanswered},
               {"backed_off", load.backed_off},
               {"ok_in_window", load.ok_in_window},
               {"window", load.window.count()},
               {"interrupted", load.interrupted},
               {"is_open", load.is_open},
               {"is_decided", load.is_decided},
               {"stamps", StampsToJson(load.stamps)},
               {"classes", Json::array()},
               {"slices", Json::array()},
               {"slice", load.slice.count()}};
  for (const ClassLoad& one : load.classes) {
    json["classes"].push_back({{"latency", HistogramToJson(one.latency)},
                               {"ended", one.ended},
                               {"planned", one.planned}});
  }
  for (const LoadSlice& slice : load.slices) {
    json["slices"].push_back({{"latency", HistogramToJson(slice.latency)},
                              {"send_lag", HistogramToJson(slice.send_lag)},
                              {"planned", slice.planned},
                              {"failed", slice.failed}});
  }
  return json;
}

absl::Status HistogramsFromJson(const Json& json, LoadResult& load) {
  absl::Status status;
  status.Update(HistogramFromJson(json.at("latency"), load.latency));
  status.Update(
      HistogramFromJson(json.at("from_send"), load.latency_from_send));
  status.Update(
      HistogramFromJson(json.at("failed_latency"), load.failed_latency));
  status.Update(HistogramFromJson(json.at("send_lag"), load.send_lag));
  for (const Json& one : json.at("classes")) {
    ClassLoad& read = load.classes.emplace_back();
    status.Update(HistogramFromJson(one.at("latency"), read.latency));
    one.at("ended").get_to(read.ended);
    one.at("planned").get_to(read.planned);
  }
  for (const Json& slice : json.at("slices")) {
    LoadSlice& read = load.slices.emplace_back();
    status.Update(HistogramFromJson(slice.at("latency"), read.latency));
    status.Update(HistogramFromJson(slice.at("send_lag"), read.send_lag));
    slice.at("planned").get_to(read.planned);
    slice.at("failed").get_to(read.failed);
  }
  return status;
}

absl::StatusOr<std::unique_ptr<LoadResult>> LoadFromJson(const Json& json) {
  auto load = std::make_unique<LoadResult>();
  if (absl::Status status = HistogramsFromJson(json, *load); !status.ok()) {
    return status;
  }
  json.at("ended").get_to(load->ended);
  json.at("planned").get_to(load->planned);
  json.at("not_sent").get_to(load->not_sent);
  json.at("held_back").get_to(load->held_back);
  json.at("unanswered").get_to(load->unanswered);
  json.at("backed_off").get_to(load->backed_off);
  json.at("ok_in_window").get_to(load->ok_in_window);
  load->window = Duration(json.at("window").get<int64_t>());
  json.at("interrupted").get_to(load->interrupted);
  json.at("is_open").get_to(load->is_open);
  json.at("is_decided").get_to(load->is_decided);
  load->stamps = StampsFromJson(json.at("stamps"));
  load->slice = Duration(json.at("slice").get<int64_t>());
  return load;
}

std::string ToBytes(const Json& json) {
  std::string bytes;
  Json::to_cbor(json, bytes);
  return bytes;
}

absl::Status NoMessage(const Json::exception& error) {
  return absl::InvalidArgumentError(
      absl::StrCat("not a message of a load: ", error.what()));
}

}  // namespace

std::string Encode(const LoadOrder& order) {
  return ToBytes({{"what", static_cast<int>(order.what)},
                  {"outstanding", order.outstanding},
                  {"rate", order.rate},
                  {"seed", order.seed},
                  {"start", ToNanos(order.plan.start)},
                  {"keeps_start", order.plan.keeps_start},
                  {"warm_up", order.plan.warm_up.count()},
                  {"measured", order.plan.measured.count()},
                  {"drain_limit", order.plan.drain_limit.count()},
                  {"max_outstanding", order.plan.max_outstanding},
                  {"slices", order.plan.slices},
                  {"keeps_stamps", order.plan.keeps_stamps}});
}

absl::StatusOr<LoadOrder> DecodeOrder(const std::string& bytes) {
  // nlohmann reports by exception; this is its edge.
  try {
    const Json json = Json::from_cbor(bytes);
    LoadOrder order;
    order.what = static_cast<LoadOrder::What>(json.at("what").get<int>());
    json.at("outstanding").get_to(order.outstanding);
    json.at("rate").get_to(order.rate);
    json.at("seed").get_to(order.seed);
    order.plan.start = FromNanos(json.at("start").get<int64_t>());
    json.at("keeps_start").get_to(order.plan.keeps_start);
    order.plan.warm_up = Duration(json.at("warm_up").get<int64_t>());
    order.plan.measured = Duration(json.at("measured").get<int64_t>());
    order.plan.drain_limit = Duration(json.at("drain_limit").get<int64_t>());
    json.at("max_outstanding").get_to(order.plan.max_outstanding);
    json.at("slices").get_to(order.plan.slices);
    json.at("keeps_stamps").get_to(order.plan.keeps_stamps);
    return order;
  } catch (const Json::exception& error) {
    return NoMessage(error);
  }
}

std::string Encode(const LoadReply& reply) {
  Json json = {{"error", reply.error}};
  if (reply.load != nullptr) {
    json["load"] = LoadToJson(*reply.load);
  }
  return ToBytes(json);
}

absl::StatusOr<LoadReply> DecodeReply(const std::string& bytes) {
  try {
    const Json json = Json::from_cbor(bytes);
    LoadReply reply;
    json.at("error").get_to(reply.error);
    if (json.contains("load")) {
      auto load = LoadFromJson(json.at("load"));
      if (!load.ok()) {
        return load.status();
      }
      reply.load = *std::move(load);
    }
    return reply;
  } catch (const Json::exception& error) {
    return NoMessage(error);
  }
}

}  // namespace ferry::bench

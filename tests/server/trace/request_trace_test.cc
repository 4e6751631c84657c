// Tests the spans and the lines that are written of requests.
#include "server/trace/request_trace.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace ferry {
namespace {

using Json = nlohmann::json;

constexpr char kParent[] =
    "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

RequestTrace Trace(int64_t batch = 7) {
  RequestTrace trace;
  trace.context.trace_id = NewTraceId();
  trace.context.is_sampled = true;
  trace.span_id = NewSpanId();
  trace.peer = "ipv4:127.0.0.1:5000";
  trace.model = "m";
  trace.version = "3";
  trace.request_id = "mine \"quoted\"";
  trace.rows = 2;
  trace.bytes = 80;
  trace.arrival = FromNanos(1'000'000'000);
  trace.closed = trace.arrival + Milliseconds(1);
  trace.compute_begin = trace.arrival + Milliseconds(2);
  trace.compute_end = trace.arrival + Milliseconds(5);
  trace.end = trace.arrival + Milliseconds(6);
  trace.batch = batch;
  trace.batch_rows = 5;
  return trace;
}

Json SpansOf(const std::vector<RequestTrace>& traces) {
  std::vector<const RequestTrace*> pointers;
  for (const RequestTrace& trace : traces) {
    pointers.push_back(&trace);
  }
  const OtlpText text = ToOtlp(pointers, WallTime());
  EXPECT_EQ(text.json.find('\n'), std::string::npos);
  Json spans =
      Json::parse(text.json)["resourceSpans"][0]["scopeSpans"][0]["spans"];
  EXPECT_EQ(spans.size(), text.spans);
  return spans;
}

Json Named(const Json& spans, const std::string& name) {
  for (const Json& span : spans) {
    if (span["name"] == name) {
      return span;
    }
  }
  return nullptr;
}

int64_t Took(const Json& span) {
  return std::stoll(span["endTimeUnixNano"].get<std::string>()) -
         std::stoll(span["startTimeUnixNano"].get<std::string>());
}

Json Attribute(const Json& span, const std::string& key) {
  for (const Json& one : span["attributes"]) {
    if (one["key"] == key) {
      return *one["value"].begin();
    }
  }
  return nullptr;
}

TEST(ToOtlp, RequestHasItsPartsInItsClientsTrace) {
  RequestTrace trace = Trace();
  trace.context = *ParseTraceparent(kParent);
  const Json spans = SpansOf({trace});
  ASSERT_EQ(spans.size(), 6U);
  const Json whole = Named(spans, "infer");
  EXPECT_EQ(whole["traceId"], "0af7651916cd43dd8448eb211c80319c");
  EXPECT_EQ(whole["parentSpanId"], "b7ad6b7169203331");
  EXPECT_EQ(whole["kind"], 2);
  EXPECT_EQ(Took(whole), 6'000'000);
  EXPECT_EQ(Attribute(whole, "ferry.model"), "m");
  EXPECT_EQ(Attribute(whole, "ferry.model_version"), "3");
  EXPECT_EQ(Attribute(whole, "ferry.request_id"), "mine \"quoted\"");
  EXPECT_EQ(Attribute(whole, "ferry.rows"), "2");
  EXPECT_EQ(Attribute(whole, "rpc.grpc.status_code"), "0");
  EXPECT_FALSE(whole.contains("status"));
  for (const auto& [name, took] :
       {std::pair("queue", 1), std::pair("stage", 1), std::pair("compute", 3),
        std::pair("deliver", 1)}) {
    const Json part = Named(spans, name);
    EXPECT_EQ(part["traceId"], whole["traceId"]);
    EXPECT_EQ(part["parentSpanId"], whole["spanId"]);
    EXPECT_EQ(Took(part), took * 1'000'000) << name;
  }
}

TEST(ToOtlp, TraceThatBeginsHereHasNoParent) {
  EXPECT_FALSE(Named(SpansOf({Trace()}), "infer").contains("parentSpanId"));
}

TEST(ToOtlp, RequestInNoBatchHasWaitedOnly) {
  RequestTrace trace = Trace();
  trace.batch.reset();
  trace.code = absl::StatusCode::kDeadlineExceeded;
  const Json spans = SpansOf({trace});
  ASSERT_EQ(spans.size(), 2U);
  EXPECT_EQ(Took(Named(spans, "queue")), 6'000'000);
}

TEST(ToOtlp, CodeOfGrpcIsAnErrorWhereTheServerIsAtFault) {
  RequestTrace trace = Trace();
  trace.code = absl::StatusCode::kInternal;
  Json whole = Named(SpansOf({trace}), "infer");
  EXPECT_EQ(whole["status"]["code"], 2);
  EXPECT_EQ(whole["status"]["message"], "INTERNAL");
  EXPECT_EQ(Attribute(whole, "rpc.grpc.status_code"), "13");
  trace.code = absl::StatusCode::kResourceExhausted;
  whole = Named(SpansOf({trace}), "infer");
  EXPECT_FALSE(whole.contains("status"));
  EXPECT_EQ(Attribute(whole, "rpc.grpc.status_code"), "8");
}

TEST(ToOtlp, IdsAreTheSameEachTimeButForBatches) {
  RequestTrace trace = Trace();
  trace.span_id = {1, 2, 3, 4, 5, 6, 7, 8};
  const Json once = SpansOf({trace});
  const Json again = SpansOf({trace});
  EXPECT_EQ(Named(once, "infer")["spanId"], "0102030405060708");
  for (const char* name : {"infer", "queue", "stage", "compute", "deliver"}) {
    EXPECT_EQ(Named(once, name)["spanId"], Named(again, name)["spanId"]);
  }
  EXPECT_NE(Named(once, "queue")["spanId"], Named(once, "stage")["spanId"]);
}

TEST(ToOtlp, BatchIsLinkedWithTheRequestsInIt) {
  RequestTrace again = Trace(7);  // the batch has run again
  again.compute_begin += Milliseconds(1);
  const std::vector<RequestTrace> traces = {Trace(7), Trace(8), Trace(7),
                                            again};
  const Json spans = SpansOf(traces);
  std::vector<size_t> links;
  for (const Json& span : spans) {
    if (span["name"] == "batch") {
      links.push_back(span["links"].size());
      EXPECT_EQ(Attribute(span, "ferry.batch_rows"), "5");
      for (const Json& link : span["links"]) {
        EXPECT_NE(link["traceId"], span["traceId"]);
      }
    }
  }
  EXPECT_EQ(links, (std::vector<size_t>{2, 1, 1}));
  const Json batch = Named(spans, "batch");
  EXPECT_EQ(batch["links"][0]["traceId"], ToHex(traces[0].context.trace_id));
  EXPECT_EQ(batch["links"][0]["spanId"], Named(spans, "infer")["spanId"]);
  EXPECT_EQ(batch["links"][1]["traceId"], ToHex(traces[2].context.trace_id));
}

TEST(ToOtlp, BytesThatAreNoTextAreReplaced) {
  RequestTrace trace = Trace();
  trace.request_id =
      "a\xff"
      "b";
  EXPECT_EQ(Attribute(Named(SpansOf({trace}), "infer"), "ferry.request_id"),
            "a\uFFFDb");
}

TEST(ToAccessLine, LineHasWhatWasDone) {
  RequestTrace trace = Trace();
  trace.context = *ParseTraceparent(kParent);
  const std::string line = ToAccessLine(trace, WallTime());
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  Json fields = Json::parse(line);
  const std::string time = fields["time"];
  EXPECT_EQ(time.size(), std::string("2026-01-01T00:00:00.000000Z").size());
  fields.erase("time");
  EXPECT_EQ(fields, (Json{{"peer", "ipv4:127.0.0.1:5000"},
                          {"model", "m"},
                          {"version", "3"},
                          {"request_id", "mine \"quoted\""},
                          {"trace_id", "0af7651916cd43dd8448eb211c80319c"},
                          {"rows", 2},
                          {"bytes", 80},
                          {"code", "OK"},
                          {"total_us", 6000},
                          {"queue_us", 1000},
                          {"stage_us", 1000},
                          {"compute_us", 3000},
                          {"batch", 7},
                          {"batch_rows", 5}}));
}

TEST(ToAccessLine, RequestInNoBatchHasNoPartsAndNoTextBreaksALine) {
  RequestTrace trace = Trace();
  trace.batch.reset();
  trace.code = absl::StatusCode::kInvalidArgument;
  trace.request_id = "a\nb\xff";
  const std::string line = ToAccessLine(trace, WallTime());
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  const Json fields = Json::parse(line);
  EXPECT_EQ(fields["request_id"], "a\nb\uFFFD");
  EXPECT_EQ(fields["code"], "INVALID_ARGUMENT");
  EXPECT_FALSE(fields.contains("queue_us"));
  EXPECT_FALSE(fields.contains("batch"));
}

}  // namespace
}  // namespace ferry

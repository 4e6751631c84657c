// PointToJson() writes a point as JSON, PointFromJson() reads it back.
//
// Thread safety: free functions over values.
// Errors: the exceptions of nlohmann's JSON, which its callers catch.
#ifndef FERRY_BENCH_REPORT_POINT_JSON_H_
#define FERRY_BENCH_REPORT_POINT_JSON_H_

#include <nlohmann/json.hpp>
#include <optional>

#include "bench/report/run_result.h"

namespace ferry::bench {

using Json = nlohmann::ordered_json;

Json PointToJson(const PointResult& point);
PointResult PointFromJson(const Json& json);

// null: nothing.
Json OptionalToJson(const std::optional<double>& value);
std::optional<double> OptionalFromJson(const Json& json);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_REPORT_POINT_JSON_H_

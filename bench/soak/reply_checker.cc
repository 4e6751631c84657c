// Implements ReplyChecker: squared distances for FP32 outputs, equality for
// others.
#include "bench/soak/reply_checker.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace ferry::bench {
namespace {

// Own must be so much closer than another, in squared distance.
constexpr double kOwnToOther = 0.1;

double SquaredDistance(const std::string& a, const std::string& b) {
  const size_t count = std::min(a.size(), b.size()) / sizeof(float);
  double sum = 0;
  for (size_t i = 0; i < count; ++i) {
    float x = 0;
    float y = 0;
    std::memcpy(&x, a.data() + i * sizeof(float), sizeof(float));
    std::memcpy(&y, b.data() + i * sizeof(float), sizeof(float));
    const double difference = static_cast<double>(x) - static_cast<double>(y);
    sum += difference * difference;
  }
  return sum;
}

}  // namespace

ReplyChecker::ReplyChecker(
    std::vector<inference::ModelInferResponse> references)
    : references_(std::move(references)) {}

ReplyCheck ReplyChecker::Check(
    size_t index, const std::string& id,
    const inference::ModelInferResponse& reply) const {
  if (reply.id() != id) {
    return ReplyCheck::kWrongId;
  }
  const auto& own = references_[index];
  if (!HasShapeOf(reply, own)) {
    return ReplyCheck::kMalformed;
  }
  const auto& other = references_[(index + 1) % references_.size()];
  for (int i = 0; i < reply.outputs_size(); ++i) {
    const std::string& rows = reply.raw_output_contents(i);
    if (reply.outputs(i).datatype() != "FP32") {
      if (rows != own.raw_output_contents(i)) {
        return ReplyCheck::kWrongRows;
      }
      continue;
    }
    const double to_own = SquaredDistance(rows, own.raw_output_contents(i));
    const double to_other = SquaredDistance(rows, other.raw_output_contents(i));
    // Not <: a NaN is wrong, and so is a reply as far from its own.
    if (!(to_own <= kOwnToOther * to_other)) {
      return ReplyCheck::kWrongRows;
    }
  }
  return ReplyCheck::kRight;
}

bool ReplyChecker::HasShapeOf(
    const inference::ModelInferResponse& reply,
    const inference::ModelInferResponse& reference) const {
  if (reply.outputs_size() != reference.outputs_size() ||
      reply.raw_output_contents_size() != reply.outputs_size()) {
    return false;
  }
  for (int i = 0; i < reply.outputs_size(); ++i) {
    const auto& shape = reply.outputs(i).shape();
    const auto& expected = reference.outputs(i).shape();
    if (!std::equal(shape.begin(), shape.end(), expected.begin(),
                    expected.end()) ||
        reply.raw_output_contents(i).size() !=
            reference.raw_output_contents(i).size()) {
      return false;
    }
  }
  return true;
}

}  // namespace ferry::bench

// Implements FrameCounter: a state a byte where headers are, a step a frame
// elsewhere.
#include "server/net/frame_counter.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace ferry {
namespace {

// RFC 9113, 6.
enum FrameType : uint8_t {
  kData = 0,
  kHeaders = 1,
  kResetStream = 3,
  kSettings = 4,
  kPing = 6,
  kWindowUpdate = 8,
  kContinuation = 9,
};
constexpr uint8_t kEndStream = 0x1;
constexpr uint8_t kAck = 0x1;
constexpr uint8_t kPadded = 0x8;
constexpr uint8_t kPriority = 0x20;
constexpr uint32_t kPriorityBytes = 5;

// What a request that ends allows.
constexpr double kAllowedResets = 1;
constexpr double kAllowedControl = 2;
// How many streams that finish let an unfinished one be forgotten.
constexpr int64_t kFinishedOfForgotten = 4096;
// Bytes of a block of headers that count as one stream more.
constexpr uint64_t kBytesOfWeight = 4 << 10;
constexpr uint8_t kLengthMask = 0x7f;  // of a string, without its Huffman bit
constexpr int kMaxShift = 28;  // of a number; gRPC takes no longer ones either

}  // namespace

const char* NameOf(FrameFlood flood) {
  switch (flood) {
    case FrameFlood::kHeaders:
      return "headers";
    case FrameFlood::kStreams:
      return "streams";
    case FrameFlood::kResets:
      return "resets";
    case FrameFlood::kControl:
      break;
  }
  return "control";
}

bool FrameBucket::Take(const FrameRate& rate, const Clock& clock) {
  const TimePoint now = clock.Now();
  const std::chrono::duration<double> passed =
      now - std::exchange(filled_, now);
  Add(rate, rate.per_second * passed.count());
  if (left_ < 1) {
    return false;
  }
  left_ -= 1;
  return true;
}

void FrameBucket::Add(const FrameRate& rate, double events) {
  left_ = std::min(rate.burst, left_ + events);
}

std::optional<FrameFlood> FrameCounter::Read(absl::Span<const uint8_t> bytes,
                                             const Clock& clock) {
  const size_t preface = std::min(preface_left_, bytes.size());
  preface_left_ -= preface;
  bytes.remove_prefix(preface);
  while (!bytes.empty()) {
    if (payload_left_ > 0) {
      const size_t size = std::min<size_t>(payload_left_, bytes.size());
      payload_left_ -= static_cast<uint32_t>(size);
      if (is_block_ && !ReadBlock(bytes.first(size))) {
        return FrameFlood::kHeaders;
      }
      bytes.remove_prefix(size);
      continue;
    }
    const size_t size = std::min(sizeof(head_) - head_bytes_, bytes.size());
    std::copy_n(bytes.begin(), size, head_ + head_bytes_);
    head_bytes_ += size;
    bytes.remove_prefix(size);
    if (head_bytes_ == sizeof(head_)) {
      head_bytes_ = 0;
      if (const auto flood = BeginFrame(clock)) {
        return flood;
      }
    }
  }
  return std::nullopt;
}

std::optional<FrameFlood> FrameCounter::BeginFrame(const Clock& clock) {
  payload_left_ = uint32_t{head_[0]} << 16 | uint32_t{head_[1]} << 8 | head_[2];
  const uint8_t type = head_[3];
  const uint8_t flags = head_[4];
  const uint32_t stream =  // without the bit that is reserved
      uint32_t{head_[5]} << 25 >> 1 | uint32_t{head_[6]} << 16 |
      uint32_t{head_[7]} << 8 | head_[8];
  is_block_ = type == kHeaders || type == kContinuation;
  if (is_block_) {
    skip_left_ = 0;
    if (type == kHeaders) {
      const bool has_priority = (flags & kPriority) != 0;
      // gRPC 1.51 reads padding as fields, and a short priority otherwise.
      if ((flags & kPadded) != 0 ||
          (has_priority && payload_left_ < kPriorityBytes)) {
        return FrameFlood::kHeaders;
      }
      skip_left_ = has_priority ? kPriorityBytes : 0;
      block_bytes_ = block_fields_ = 0;
      field_ = Field::kBegin;
    }
    block_bytes_ += sizeof(head_) + payload_left_;
    if (block_bytes_ > bounds_.header_bytes) {
      return FrameFlood::kHeaders;
    }
  }
  const bool ends = (flags & kEndStream) != 0;
  switch (type) {
    case kHeaders:
      if (stream % 2 == 0) {
        break;
      }
      if (stream > last_stream_) {
        return BeginStream(stream, ends)
                   ? std::nullopt
                   : std::optional<FrameFlood>(FrameFlood::kStreams);
      }
      if (!Finish(stream)) {
        break;
      }
      return std::nullopt;
    case kData:
      if ((ends && Finish(stream)) || payload_left_ > 0) {
        return std::nullopt;
      }
      break;
    case kResetStream:
      // What a request that had ended allowed, it allows no more.
      AllowResets(Leave(stream) ? 0 : -kAllowedResets);
      return TakeReset(clock) ? std::nullopt
                              : std::optional<FrameFlood>(FrameFlood::kResets);
    case kContinuation:
      return ContinueStream(stream)
                 ? std::nullopt
                 : std::optional<FrameFlood>(FrameFlood::kStreams);
    case kWindowUpdate:
      return std::nullopt;
    case kSettings:
    case kPing:
      if ((flags & kAck) != 0) {
        // gRPC takes one that comes before its settings for that of no bound.
        has_acknowledged_ =
            has_acknowledged_ ||
            (type == kSettings && has_sent_.load(std::memory_order_relaxed));
        return std::nullopt;
      }
      break;
    default:
      break;
  }
  return control_.Take(bounds_.control, clock)
             ? std::nullopt
             : std::optional<FrameFlood>(FrameFlood::kControl);
}

bool FrameCounter::BeginStream(uint32_t stream, bool ends) {
  if (!has_acknowledged_ && ++early_streams_ > bounds_.early_streams) {
    return false;
  }
  last_stream_ = stream;  // it may be far past: grpc-java leaves numbers out
  Weigh(stream);
  if (ends) {
    Finish(stream);
    return true;
  }
  return MayHaveUnfinished();
}

bool FrameCounter::ContinueStream(uint32_t stream) {
  if (!weights_.contains(stream)) {
    return true;
  }
  Weigh(stream);
  return MayHaveUnfinished();
}

void FrameCounter::Weigh(uint32_t stream) {
  uint32_t& weight = weights_[stream];
  const auto now = static_cast<uint32_t>(1 + block_bytes_ / kBytesOfWeight);
  const int64_t more = int64_t{now} - std::exchange(weight, now);
  unfinished_ += more;
  totals_.unfinished.fetch_add(more, std::memory_order_relaxed);
}

bool FrameCounter::MayHaveUnfinished() const {
  return unfinished_ <= bounds_.own_unfinished ||
         totals_.unfinished.load(std::memory_order_relaxed) <=
             bounds_.unfinished ||
         unfinished_ * totals_.connections.load(std::memory_order_relaxed) <=
             bounds_.unfinished;
}

bool FrameCounter::Finish(uint32_t stream) {
  if (!Leave(stream)) {
    return false;
  }
  AllowResets(kAllowedResets);
  control_.Add(bounds_.control, kAllowedControl);
  if (++finished_ % kFinishedOfForgotten == 0 && !weights_.empty()) {
    Leave(std::min_element(weights_.begin(), weights_.end())->first);
  }
  return true;
}

bool FrameCounter::Leave(uint32_t stream) {
  const auto found = weights_.find(stream);
  if (found == weights_.end()) {
    return false;
  }
  unfinished_ -= found->second;
  totals_.unfinished.fetch_sub(found->second, std::memory_order_relaxed);
  weights_.erase(found);
  return true;
}

FrameCounter::~FrameCounter() {
  totals_.connections.fetch_sub(1, std::memory_order_relaxed);
  totals_.unfinished.fetch_sub(unfinished_, std::memory_order_relaxed);
}

bool FrameCounter::TakeReset(const Clock& clock) {
  const auto connections =
      static_cast<double>(totals_.connections.load(std::memory_order_relaxed));
  const FrameRate even = {
      .burst = bounds_.own_resets,
      .per_second = bounds_.resets.per_second / connections};
  return resets_.Take(bounds_.resets, clock) &&
         (own_resets_.Take(even, clock) ||
          totals_.TakeReset(bounds_.all_resets, clock));
}

void FrameCounter::AllowResets(double resets) {
  resets_.Add(bounds_.resets, resets);
  own_resets_.Add({.burst = bounds_.own_resets}, resets);
}

bool FrameCounter::ReadBlock(absl::Span<const uint8_t> bytes) {
  const size_t skipped = std::min<size_t>(skip_left_, bytes.size());
  skip_left_ -= static_cast<uint32_t>(skipped);
  bytes.remove_prefix(skipped);
  while (!bytes.empty()) {
    if (field_ == Field::kString) {
      const size_t size = std::min<size_t>(number_, bytes.size());
      number_ -= size;
      bytes.remove_prefix(size);
      if (number_ == 0) {
        EndString();
      }
      continue;
    }
    if (!ReadField(bytes.front())) {
      return false;
    }
    bytes.remove_prefix(1);
  }
  return true;
}

bool FrameCounter::ReadField(uint8_t byte) {
  switch (field_) {
    case Field::kBegin:
      return BeginField(byte);
    case Field::kLengthBegin:
      number_ = byte & kLengthMask;
      shift_ = 0;
      field_ = Field::kLength;
      return number_ == kLengthMask || BeginString();
    default:
      return ReadNumber(byte);
  }
}

bool FrameCounter::BeginField(uint8_t byte) {
  if (++block_fields_ > bounds_.header_fields) {
    return false;
  }
  // RFC 7541, 6: an index into the tables, or strings that may go into one.
  const uint8_t mask = (byte & 0x80) != 0   ? 0x7f
                       : (byte & 0x40) != 0 ? 0x3f
                       : (byte & 0x20) != 0 ? 0x1f
                                            : 0x0f;
  const bool has_strings = mask == 0x3f || mask == 0x0f;
  const bool has_index = (byte & mask) != 0;
  strings_left_ = !has_strings ? 0 : has_index ? 1 : 2;
  shift_ = 0;
  field_ = (byte & mask) == mask ? Field::kIndex
           : strings_left_ > 0   ? Field::kLengthBegin
                                 : Field::kBegin;
  return true;
}

// RFC 7541, 5.1: what does not fit into the first byte.
bool FrameCounter::ReadNumber(uint8_t byte) {
  if (shift_ > kMaxShift) {
    return false;
  }
  number_ += uint64_t{byte & 0x7fU} << shift_;
  shift_ += 7;
  if ((byte & 0x80) != 0) {
    return true;
  }
  if (field_ == Field::kLength) {
    return BeginString();
  }
  field_ = strings_left_ > 0 ? Field::kLengthBegin : Field::kBegin;
  return true;
}

bool FrameCounter::BeginString() {
  field_ = Field::kString;
  if (number_ == 0) {
    EndString();
  }
  return number_ <= bounds_.header_bytes;
}

void FrameCounter::EndString() {
  --strings_left_;
  field_ = strings_left_ > 0 ? Field::kLengthBegin : Field::kBegin;
}

}  // namespace ferry

// FrameCounter reads along what a client sends on one HTTP/2 connection, frame
// head by frame head, and says when that is no client's traffic any more.
//
// gRPC 1.51 takes what follows, and does not survive it: streams that are begun
// and reset at full speed, a head whose value is declared 1 GiB long, a head
// that never ends, floods of SETTINGS and PING. A frame's head has nine bytes
// (RFC 9113, 4.1); of a block of headers the lengths of its strings are read,
// not the strings (RFC 7541, 5 and 6). Payloads are passed over.
//
// Thread safety: thread-compatible, but Sent().
#ifndef FERRY_SERVER_NET_FRAME_COUNTER_H_
#define FERRY_SERVER_NET_FRAME_COUNTER_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "base/clock.h"
#include "base/mutex.h"

namespace ferry {

// Why a connection is closed.
enum class FrameFlood : uint8_t { kHeaders, kStreams, kResets, kControl };
inline constexpr size_t kFrameFloodCount = 4;

// Returns "headers", "streams", "resets" or "control", as the metric has it.
const char* NameOf(FrameFlood flood);

// How many events may come at once, and how many go on coming.
struct FrameRate {
  double burst = 0;
  double per_second = 0;
};

struct FrameBounds {
  // What one block of headers may have: bytes, with the heads of its frames, or
  // of a string that it declares; and fields.
  uint64_t header_bytes = 1 << 20;
  uint64_t header_fields = 4000;
  // Streams that a client begins before it has acknowledged the server's
  // settings: until then gRPC does not hold it to how many it may have at once.
  int64_t early_streams = 2000;
  // Requests that were begun and whose client has not ended them, of all
  // connections together, one more for each 4 KiB of a block of headers; past
  // it one that has more than its even share of them and more than
  // `own_unfinished` may begin no more.
  int64_t unfinished = 8192;
  int64_t own_unfinished = 32;
  // RST_STREAM: a client that gives up on a request. A request that ends
  // otherwise allows one more. What a connection has beyond `own_resets`, and
  // beyond an even share of the rate, all connections together have no more of.
  FrameRate resets = {.burst = 3'000, .per_second = 1'000};
  double own_resets = 32;
  FrameRate all_resets = {.burst = 3'000, .per_second = 1'000};
  // SETTINGS, PING, PRIORITY, GOAWAY, unknown frames, streams with a number
  // that no client's have, and DATA without a byte. A request that ends allows
  // two more: clients in Go send a PING with each reply.
  FrameRate control = {.burst = 2'000, .per_second = 200};
};

// A bucket of events. It is full at first, and fills again at a rate that may
// be another each time.
class FrameBucket {
 public:
  FrameBucket(const FrameRate& rate, TimePoint now)
      : left_(rate.burst), filled_(now) {}

  // Takes one; false where there is none.
  bool Take(const FrameRate& rate, const Clock& clock);
  // Adds some, which may be fewer than 0.
  void Add(const FrameRate& rate, double events);

 private:
  double left_;
  TimePoint filled_;  // when it last was
};

// What the connections of a server have together. Thread-safe.
class FrameTotals {
 public:
  std::atomic<int64_t> connections{0};
  std::atomic<int64_t> unfinished{0};  // requests

  bool TakeReset(const FrameRate& rate, const Clock& clock) {
    MutexLock lock(mutex_);
    return resets_.Take(rate, clock);
  }

 private:
  Mutex mutex_;
  // Not filled for so long that it is full, whatever the rate is to be.
  FrameBucket resets_ ABSL_GUARDED_BY(mutex_){
      {}, TimePoint() - std::chrono::hours(1)};
};

class FrameCounter {
 public:
  // `bounds` and `totals` outlive it.
  FrameCounter(const FrameBounds& bounds, FrameTotals& totals, TimePoint now)
      : bounds_(bounds),
        totals_(totals),
        resets_(bounds.resets, now),
        own_resets_({.burst = bounds.own_resets}, now),
        control_(bounds.control, now) {
    totals_.connections.fetch_add(1, std::memory_order_relaxed);
  }
  ~FrameCounter();

  FrameCounter(const FrameCounter&) = delete;
  FrameCounter& operator=(const FrameCounter&) = delete;

  // The server has sent something, which begins with its settings. Any thread.
  void Sent() { has_sent_.store(true, std::memory_order_relaxed); }

  // Reads the next bytes of the connection, from its first on. Returns why it
  // is to be closed, or nothing; after that it is not called again.
  std::optional<FrameFlood> Read(absl::Span<const uint8_t> bytes,
                                 const Clock& clock);

 private:
  // Where it is in a block of headers.
  enum class Field : uint8_t { kBegin, kIndex, kLengthBegin, kLength, kString };

  std::optional<FrameFlood> BeginFrame(const Clock& clock);
  // Each returns whether the client may have the stream, which is begun, or
  // whose block of headers goes on.
  bool BeginStream(uint32_t stream, bool ends);
  bool ContinueStream(uint32_t stream);
  // Counts the stream's block of headers as far as it has come.
  void Weigh(uint32_t stream);
  bool MayHaveUnfinished() const;
  // Takes a request out of the unfinished; false where it is none of them.
  bool Leave(uint32_t stream);
  // Does so as its client has ended it.
  bool Finish(uint32_t stream);
  // Returns whether the client may give up one more request.
  bool TakeReset(const Clock& clock);
  void AllowResets(double resets);
  // Each returns whether the block stays within its bounds.
  bool ReadBlock(absl::Span<const uint8_t> bytes);
  bool ReadField(uint8_t byte);
  bool BeginField(uint8_t byte);
  bool ReadNumber(uint8_t byte);
  bool BeginString();
  void EndString();

  const FrameBounds& bounds_;
  FrameTotals& totals_;

  size_t preface_left_ = 24;
  uint8_t head_[9] = {};
  size_t head_bytes_ = 0;  // of head_ that have come
  uint32_t payload_left_ = 0;
  uint32_t last_stream_ = 0;
  // The unfinished streams, and as how many each counts. What the server itself
  // has ended is among them: the oldest leaves them with each 4,096 that
  // finish.
  absl::flat_hash_map<uint32_t, uint32_t> weights_;
  int64_t unfinished_ = 0;     // their sum
  int64_t finished_ = 0;       // streams
  int64_t early_streams_ = 0;  // begun before the settings were acknowledged
  std::atomic<bool> has_sent_{false};
  bool has_acknowledged_ = false;  // what was sent

  // A frame of headers: what is not of the block.
  bool is_block_ = false;
  uint32_t skip_left_ = 0;     // before it
  uint64_t block_bytes_ = 0;   // so far, with the heads of its frames
  uint64_t block_fields_ = 0;  // so far
  Field field_ = Field::kBegin;
  int strings_left_ = 0;  // of the field
  uint64_t number_ = 0;   // that is being read, or bytes left of the string
  int shift_ = 0;         // of the number's next byte

  FrameBucket resets_;
  FrameBucket own_resets_;  // of its even share
  FrameBucket control_;
};

}  // namespace ferry

#endif  // FERRY_SERVER_NET_FRAME_COUNTER_H_

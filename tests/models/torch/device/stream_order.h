// StreamOrder checks that what streams do to the same memory is in an order
// that events or the host have made, and not in that of a lucky schedule.
//
// Each stream, and the host, has a clock of what it knows to have ended, of
// all of them (vector clocks: Fidge 1988, Mattern 1989). An access that does
// not know of an earlier one to the same bytes is a fault, but for two reads.
//
// The host is one: threads of it are taken to tell each other what they know.
//
// Thread safety: thread-compatible.
#ifndef FERRY_TESTS_MODELS_TORCH_DEVICE_STREAM_ORDER_H_
#define FERRY_TESTS_MODELS_TORCH_DEVICE_STREAM_ORDER_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "models/torch/device/device_runtime.h"

namespace ferry {

struct Bytes {
  std::byte* begin = nullptr;
  size_t size = 0;

  bool Overlaps(const Bytes& other) const {
    return begin < other.begin + other.size && other.begin < begin + size;
  }
};

inline Bytes BytesAt(const void* data, size_t size) {
  return {static_cast<std::byte*>(const_cast<void*>(data)), size};
}

class StreamOrder {
 public:
  static constexpr size_t kHost = 3;  // behind the streams
  using Known = std::array<uint64_t, 4>;

  // `faults` outlives it.
  explicit StreamOrder(std::vector<std::string>& faults) : faults_(faults) {}

  // What is put on a stream comes after all that the host knows of.
  void Put(DeviceStream stream) { Learn(Index(stream), known_[kHost]); }

  // What the stream has done and knows of at this mark.
  Known Mark(DeviceStream stream) {
    Put(stream);
    return known_[Index(stream)];
  }
  void Block(DeviceStream stream, const Known& mark) {
    Learn(Index(stream), mark);
  }
  void Await(const Known& mark) { Learn(kHost, mark); }

  void Read(size_t who, const Bytes& bytes) { Access(who, bytes, false); }
  void Write(size_t who, const Bytes& bytes) { Access(who, bytes, true); }

  static size_t Index(DeviceStream stream) {
    return static_cast<size_t>(stream);
  }

 private:
  struct Done {
    size_t who;
    uint64_t at;
    Bytes bytes;
    bool is_write;
  };

  void Learn(size_t who, const Known& of) {
    for (size_t i = 0; i < of.size(); ++i) {
      known_[who][i] = std::max(known_[who][i], of[i]);
    }
  }

  void Access(size_t who, const Bytes& bytes, bool is_write) {
    // What the host knows of, all that follows knows of.
    accesses_.erase(std::remove_if(accesses_.begin(), accesses_.end(),
                                   [&](const Done& done) {
                                     return done.at <= known_[kHost][done.who];
                                   }),
                    accesses_.end());
    for (const Done& done : accesses_) {
      if ((done.is_write || is_write) && done.bytes.Overlaps(bytes) &&
          done.at > known_[who][done.who]) {
        faults_.push_back(
            absl::StrCat(Name(who), is_write ? " writes what " : " reads what ",
                         Name(done.who), done.is_write ? " writes" : " reads",
                         ": expected it to wait for that, got no order"));
      }
    }
    accesses_.push_back({who, ++known_[who][who], bytes, is_write});
  }

  static const char* Name(size_t who) {
    static constexpr std::array<const char*, 4> kNames = {
        "the copy in", "the compute", "the copy out", "the host"};
    return kNames[who];
  }

  std::vector<std::string>& faults_;
  std::array<Known, 4> known_ = {};
  std::vector<Done> accesses_;
};

}  // namespace ferry

#endif  // FERRY_TESTS_MODELS_TORCH_DEVICE_STREAM_ORDER_H_

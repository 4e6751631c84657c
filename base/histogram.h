// Histogram counts values in log-linear buckets: exact below 2^kSubBucketBits,
// then 2^kSubBucketBits buckets for each power of two.
//
// A value v >= 2^k (k = kSubBucketBits) lies in a bucket of width
// 2^(floor(log2 v) - k), so the middle that Quantile() reports is off by at
// most v / 2^(k+1): 3.2 % for k = 4, 0.4 % for k = 7. The minimum and maximum
// are exact. Values above 2^kMaxBits - 1 count in the last bucket.
//
// Thread safety: one writer (Record, Merge into it), any number of readers at
// the same time. A reader sees each count whole, and a value that is being
// recorded in some of the counts and not yet in others.
// Progress: Record() is wait-free: loads and stores, no read-modify-write.
#ifndef FERRY_BASE_HISTOGRAM_H_
#define FERRY_BASE_HISTOGRAM_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace ferry {

// A count that one thread writes and others read.
class Counter {
 public:
  Counter() = default;
  Counter(const Counter& other) { Set(other.value()); }
  Counter& operator=(const Counter& other) {
    Set(other.value());
    return *this;
  }

  void Add(uint64_t n) { value_.store(value() + n, std::memory_order_relaxed); }
  void Set(uint64_t n) { value_.store(n, std::memory_order_relaxed); }
  uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_{0};
};

template <int kSubBucketBits>
class Histogram {
 public:
  static constexpr int kMaxBits = 44;  // as nanoseconds: 4.9 hours
  static constexpr size_t kBucketCount = size_t{kMaxBits - kSubBucketBits + 1}
                                         << kSubBucketBits;

  void Record(uint64_t value) {
    buckets_[BucketOf(value)].Add(1);
    sum_.Add(value);
    min_.Set(std::min(min_.value(), value));
    max_.Set(std::max(max_.value(), value));
    count_.Add(1);
  }

  // Adds all that `other` counted; exact, as if recorded here.
  void Merge(const Histogram& other) {
    for (size_t i = 0; i < kBucketCount; ++i) {
      buckets_[i].Add(other.buckets_[i].value());
    }
    count_.Add(other.count());
    sum_.Add(other.sum());
    min_.Set(std::min(min_.value(), other.min_.value()));
    max_.Set(std::max(max_.value(), other.max_.value()));
  }

  // Adds `n` values that lay in the bucket of `value`, without their sum and
  // bounds: those of all buckets are added once, by AddTotals(). Both together
  // put back a histogram whose counts were written down.
  void AddCounts(uint64_t value, uint64_t n) {
    buckets_[BucketOf(value)].Add(n);
    count_.Add(n);
  }

  // REQUIRES: there is at least one value that they are of.
  void AddTotals(uint64_t sum, uint64_t min, uint64_t max) {
    sum_.Add(sum);
    min_.Set(std::min(min_.value(), min));
    max_.Set(std::max(max_.value(), max));
  }

  void Clear() {
    for (Counter& bucket : buckets_) {
      bucket.Set(0);
    }
    count_.Set(0);
    sum_.Set(0);
    min_.Set(kNone);
    max_.Set(0);
  }

  uint64_t count() const { return count_.value(); }
  uint64_t sum() const { return sum_.value(); }
  uint64_t min() const { return count() == 0 ? 0 : min_.value(); }
  uint64_t max() const { return max_.value(); }
  double mean() const {
    return count() == 0
               ? 0
               : static_cast<double>(sum()) / static_cast<double>(count());
  }

  // Returns the middle of the bucket that holds the value of rank
  // ceil(q * count), within [min, max]; 0 when empty. REQUIRES: 0 <= q <= 1.
  uint64_t Quantile(double q) const {
    const uint64_t total = count();
    const auto wanted =
        static_cast<uint64_t>(std::ceil(q * static_cast<double>(total)));
    const uint64_t rank =
        std::clamp<uint64_t>(wanted, 1, std::max<uint64_t>(total, 1));
    if (rank == total) {
      return max();
    }
    uint64_t seen = 0;
    for (size_t i = 0; i < kBucketCount; ++i) {
      seen += buckets_[i].value();
      if (seen >= rank) {
        const uint64_t middle =
            LowestOf(i) + (LowestOf(i + 1) - LowestOf(i)) / 2;
        // Not std::clamp: min may pass max while the first values come.
        return std::max(min(), std::min(middle, max()));
      }
    }
    return max();
  }

  // Returns how many values lie in buckets that end at or below `value`.
  uint64_t CountAtOrBelow(uint64_t value) const {
    uint64_t seen = 0;
    for (size_t i = 0; i < kBucketCount && LowestOf(i + 1) - 1 <= value; ++i) {
      seen += buckets_[i].value();
    }
    return seen;
  }

  // Bucket i holds values in [LowestOf(i), LowestOf(i + 1)).
  static constexpr uint64_t LowestOf(size_t bucket) {
    constexpr size_t kPerPower = size_t{1} << kSubBucketBits;
    if (bucket < kPerPower) {
      return bucket;
    }
    const size_t power = bucket / kPerPower - 1;
    return uint64_t{kPerPower + bucket % kPerPower} << power;
  }
  static constexpr size_t BucketOf(uint64_t value) {
    constexpr uint64_t kLargest = (uint64_t{1} << kMaxBits) - 1;
    const uint64_t clamped = std::min(value, kLargest);
    const int width = static_cast<int>(std::bit_width(clamped));
    if (width <= kSubBucketBits) {
      return static_cast<size_t>(clamped);
    }
    const int shift = width - kSubBucketBits - 1;
    return (static_cast<size_t>(shift) << kSubBucketBits) +
           static_cast<size_t>(clamped >> shift);
  }
  uint64_t bucket(size_t i) const { return buckets_[i].value(); }

 private:
  static constexpr uint64_t kNone = std::numeric_limits<uint64_t>::max();

  struct MinCounter : Counter {
    MinCounter() { Set(kNone); }
  };

  std::array<Counter, kBucketCount> buckets_;
  Counter count_;
  Counter sum_;
  MinCounter min_;
  Counter max_;
};

}  // namespace ferry

#endif  // FERRY_BASE_HISTOGRAM_H_

// RelaxedCopy holds a value that one thread at a time stores and any thread
// reads without waiting, word by word: a reader that comes while it is stored
// may find some words new and some old. For numbers that are estimates anyway.
//
// Thread safety: Load() from any thread; Store() from one at a time.
#ifndef FERRY_BASE_RELAXED_COPY_H_
#define FERRY_BASE_RELAXED_COPY_H_

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace ferry {

template <typename T>
class RelaxedCopy {
  static_assert(std::is_trivially_copyable_v<T>);
  static_assert(sizeof(T) % sizeof(uint64_t) == 0, "T is of whole words");
  using Words = std::array<uint64_t, sizeof(T) / sizeof(uint64_t)>;

 public:
  RelaxedCopy() : RelaxedCopy(T{}) {}
  explicit RelaxedCopy(const T& value) { Store(value); }

  void Store(const T& value) {
    const auto words = std::bit_cast<Words>(value);
    for (size_t i = 0; i < words.size(); ++i) {
      words_[i].store(words[i], std::memory_order_relaxed);
    }
  }

  T Load() const {
    Words words;
    for (size_t i = 0; i < words.size(); ++i) {
      words[i] = words_[i].load(std::memory_order_relaxed);
    }
    return std::bit_cast<T>(words);
  }

 private:
  std::array<std::atomic<uint64_t>, sizeof(T) / sizeof(uint64_t)> words_;
};

}  // namespace ferry

#endif  // FERRY_BASE_RELAXED_COPY_H_

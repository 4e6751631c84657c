// Choices are the numbers that a simulation draws.
//
// Thread safety: thread-compatible.
#ifndef FERRY_TESTS_BATCHER_SIMULATION_CHOICES_H_
#define FERRY_TESTS_BATCHER_SIMULATION_CHOICES_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <numeric>
#include <random>

namespace ferry {

class Choices {
 public:
  virtual ~Choices() = default;

  // Returns a number of that range, both ends included.
  virtual int64_t Uniform(int64_t low, int64_t high) = 0;

  // Returns the index of one of the weights.
  virtual size_t Pick(std::initializer_list<int64_t> weights) = 0;

  // Whether nothing is left to draw from.
  virtual bool is_over() const { return false; }

  bool OneIn(int64_t n) { return Uniform(1, n) == 1; }
};

// Draws from a generator, without end; picks each as often as its weight says.
class RandomChoices final : public Choices {
 public:
  explicit RandomChoices(uint64_t seed) : random_(seed) {}

  int64_t Uniform(int64_t low, int64_t high) override {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }

  size_t Pick(std::initializer_list<int64_t> weights) override {
    int64_t dice =
        Uniform(1, std::accumulate(weights.begin(), weights.end(), int64_t{0}));
    size_t index = 0;
    for (const int64_t weight : weights) {
      if (dice <= weight) {
        break;
      }
      dice -= weight;
      ++index;
    }
    return index;
  }

 private:
  std::mt19937_64 random_;
};

}  // namespace ferry

#endif  // FERRY_TESTS_BATCHER_SIMULATION_CHOICES_H_

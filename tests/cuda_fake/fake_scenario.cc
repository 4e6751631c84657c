// Implements FakeScenario: reads FERRY_FAKE_CUDA.
#include "tests/cuda_fake/fake_scenario.h"

#include <cstdio>
#include <cstdlib>
#include <sstream>

namespace ferry::cuda_fake {
namespace {

[[noreturn]] void Refuse(const std::string& word) {
  std::fprintf(stderr,
               "FERRY_FAKE_CUDA: expected words as in fake_scenario.h, got "
               "'%s'\n",
               word.c_str());
  std::_Exit(1);
}

PlannedError ReadError(const std::string& value, bool is_sticky) {
  const size_t first = value.find(':');
  const size_t second = value.find(':', first + 1);
  if (first == std::string::npos || second == std::string::npos) {
    Refuse(value);
  }
  const std::string between = value.substr(first + 1, second - first - 1);
  const auto number = std::strtoull(between.c_str(), nullptr, 10);
  if (between == "0") {  // calls count from 1
    Refuse(value);
  }
  return {.call = value.substr(0, first),
          .number = number,
          .when = number == 0 ? between : "",
          .code = std::atoi(&value[second + 1]),
          .is_sticky = is_sticky};
}

PlannedHang ReadHang(const std::string& value) {
  const size_t colon = value.find(':');
  if (colon == std::string::npos) {
    Refuse(value);
  }
  return {.call = value.substr(0, colon), .path = value.substr(colon + 1)};
}

FakeScenario Read() {
  FakeScenario scenario;
  const char* const text = std::getenv("FERRY_FAKE_CUDA");
  std::istringstream words(text == nullptr ? "" : text);
  for (std::string word; words >> word;) {
    const size_t equals = word.find('=');
    if (equals == std::string::npos) {
      Refuse(word);
    }
    const std::string name = word.substr(0, equals);
    const std::string value = word.substr(equals + 1);
    const auto number = std::strtoull(value.c_str(), nullptr, 10);
    if (name == "memory_mib") {
      scenario.memory_mib = number;
    } else if (name == "context_mib") {
      scenario.context_mib = number;
    } else if (name == "kernel_kib") {
      scenario.kernel_kib = number;
    } else if (name == "driver") {
      scenario.driver = static_cast<int>(number);
    } else if (name == "fail" || name == "fail_when" || name == "sticky") {
      scenario.errors.push_back(ReadError(value, name == "sticky"));
    } else if (name == "hang_while") {
      scenario.hangs.push_back(ReadHang(value));
    } else if (name == "endless") {
      scenario.endless = number;
    } else if (name == "kernel_ms") {
      scenario.kernel_ms = static_cast<int64_t>(number);
    } else if (name == "slow_free_ms") {
      scenario.slow_free_ms = static_cast<int64_t>(number);
    } else if (name == "hold_free") {
      scenario.hold_free = value;
    } else if (name == "records_not_ready") {
      scenario.records_not_ready = number != 0;
    } else if (name == "progresses") {
      scenario.progresses = number != 0;
    } else if (name == "wrong_graph") {
      scenario.wrong_graph = number;
    } else if (name == "lose_when") {
      scenario.lose_when = value;
    } else if (name == "log") {
      scenario.log = value;
    } else {
      Refuse(word);
    }
  }
  return scenario;
}

}  // namespace

const FakeScenario& FakeScenario::Get() {
  static const auto* const scenario = new FakeScenario(Read());
  return *scenario;
}

}  // namespace ferry::cuda_fake

// WholeGpu, MixedMig and SevenSlices describe machines for tests, as texts that
// the fake library plays; StartFake opens that library.
//
// Thread safety: one test at a time: the fake has one scenario a process.
#ifndef FERRY_TESTS_MODELS_NVML_SCENARIOS_H_
#define FERRY_TESTS_MODELS_NVML_SCENARIOS_H_

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "models/nvml/library.h"

namespace ferry::nvml {

inline constexpr char kGpuUuid[] = "GPU-aaaaaaaa-0000-1111-2222-333333333333";
inline constexpr char kOtherGpuUuid[] =
    "GPU-aabbbbbb-0000-1111-2222-333333333333";
inline constexpr char kFirstMig[] = "MIG-11111111-aaaa-bbbb-cccc-dddddddddddd";
inline constexpr char kSecondMig[] = "MIG-12222222-aaaa-bbbb-cccc-dddddddddddd";
inline constexpr char kThirdMig[] = "MIG-33333333-aaaa-bbbb-cccc-dddddddddddd";

// One H100 without MIG, all of whose values are told.
std::string WholeGpu();

// One H200 with MIG: 1g, a hole, 2g and 3g; and one with MIG off.
std::string MixedMig();

// One H200 with seven slices of 1g.
std::string SevenSlices();

// Starts the fake with a scenario, less the symbols that are named.
absl::StatusOr<std::unique_ptr<Library>> StartFake(
    const std::string& scenario, std::set<std::string> missing = {});

// How often a call returned a code.
uint64_t CountOf(const Library& library, const std::string& call, Code code);

}  // namespace ferry::nvml

#endif  // FERRY_TESTS_MODELS_NVML_SCENARIOS_H_

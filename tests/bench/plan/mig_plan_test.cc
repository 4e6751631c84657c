// Tests how models are packed into slices, and which files of models are
// refused.
#include "bench/plan/mig_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "absl/strings/str_cat.h"

namespace ferry::plan {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Indexes of MigDevice::profiles.
constexpr size_t k1g = 0;
constexpr size_t k1gTwice = 2;
constexpr size_t k2g = 3;
constexpr size_t k3g = 4;
constexpr size_t k7g = 6;

MigDevice H200() { return *FindMigDevice("H200"); }

MigModel Model(const std::string& name, double peak_rate,
               const std::map<size_t, double>& rates,
               double memory_mib = 1000) {
  MigModel model = {
      .name = name, .peak_rate = peak_rate, .memory_mib = memory_mib};
  for (const auto& [profile, rate] : rates) {
    model.rates[profile] = rate;
  }
  return model;
}

MigPacking Packed(const std::vector<MigModel>& models, double headroom = 1) {
  const auto packing = PackMig(H200(), models, headroom, std::nullopt);
  EXPECT_TRUE(packing.ok()) << packing.status();
  return packing.value_or(MigPacking());
}

// Returns the slices of a model, by profile.
MigCounts SlicesOf(const MigPacking& packing, size_t model) {
  MigCounts counts = {};
  for (const MigSlice& slice : packing.slices) {
    counts[slice.profile] += slice.model == model ? 1 : 0;
  }
  return counts;
}

std::string Refusal(const std::vector<MigModel>& models,
                    const std::optional<MigCounts>& layout = std::nullopt,
                    double headroom = 1) {
  return std::string(
      PackMig(H200(), models, headroom, layout).status().message());
}

TEST(MigPlanTest, ThreeModelsOfAThousandRequestsADayTakeThreeSmallSlices) {
  const double peak = 1000.0 / 86'400 * 20;
  const MigPacking packing =
      Packed({Model("a", peak, {{k1g, 400}, {k2g, 780}}),
              Model("b", peak, {{k1g, 150}}), Model("c", peak, {{k1g, 60}})},
             0.7);
  EXPECT_EQ(packing.devices, 1);
  EXPECT_EQ(packing.slices.size(), 3U);
  EXPECT_EQ(packing.sms_held, 48);
}

TEST(MigPlanTest, MemoryDecides) {
  const MigPacking packing =
      Packed({Model("a", 10, {{k1g, 100}, {k1gTwice, 100}, {k2g, 190}}, 20'000),
              Model("b", 10, {{k1g, 100}, {k2g, 190}}, 16'384)});
  EXPECT_EQ(SlicesOf(packing, 0)[k1gTwice], 1) << "26 SMs, not the 32 of 2g";
  EXPECT_EQ(SlicesOf(packing, 1)[k1g], 1);
  EXPECT_THAT(
      Refusal({Model("a", 10, {{k1g, 100}}, 16'385)}),
      AllOf(HasSubstr("model 'a': expected a rate measured on a profile "
                      "that holds its 16385 MiB (1g.35gb, 2g.35gb, "),
            HasSubstr("got rates of 1g.18gb")));
  EXPECT_THAT(Refusal({Model("a", 10, {{k7g, 100}}, 200'000)}),
              HasSubstr("(none does)"));
}

TEST(MigPlanTest, RateThatWasNotMeasuredIsNotDerived) {
  EXPECT_THAT(Refusal({Model("a", 10, {})}), HasSubstr("got rates of none"));
  // One 3g would do by its share of SMs, but only 1g was measured.
  const MigPacking packing = Packed({Model("a", 250, {{k1g, 100}})});
  EXPECT_EQ(SlicesOf(packing, 0)[k1g], 3);
}

TEST(MigPlanTest, HeadroomIsOfEachSlice) {
  EXPECT_EQ(Packed({Model("a", 70, {{k1g, 100}})}, 0.7).slices.size(), 1U)
      << "a whole quotient is not rounded up";
  EXPECT_EQ(Packed({Model("a", 71, {{k1g, 100}})}, 0.7).slices.size(), 2U);
  EXPECT_THAT(Refusal({Model("a", 1, {{k1g, 1}})}, std::nullopt, 0),
              HasSubstr("headroom: expected"));
}

TEST(MigPlanTest, TwoDevicesWhereOneDoesNot) {
  const MigPacking packing =
      Packed({Model("a", 300, {{k3g, 300}}), Model("b", 300, {{k3g, 300}}),
              Model("c", 100, {{k1g, 100}})});
  EXPECT_EQ(packing.devices, 2)
      << "two 3g leave compute but no memory for a 1g";
  EXPECT_EQ(packing.slices.front().device, 0);
  EXPECT_EQ(packing.slices.back().device, 1);
}

TEST(MigPlanTest, FewerDevicesBeforeFewerSms) {
  // Seven 1g are 112 SMs, one 7g 132: both are one device.
  EXPECT_EQ(Packed({Model("a", 700, {{k1g, 100}, {k7g, 900}})}).sms_held, 112);
  // Eight 1g would be two devices.
  const MigPacking packing =
      Packed({Model("a", 800, {{k1g, 100}, {k7g, 900}})});
  EXPECT_EQ(packing.devices, 1);
  EXPECT_EQ(packing.sms_held, 132);
}

TEST(MigPlanTest, TiesHaveOneAnswer) {
  const std::vector<MigModel> models = {Model("a", 100, {{k1g, 100}}),
                                        Model("b", 100, {{k1g, 100}})};
  const MigPacking packing = Packed(models);
  ASSERT_EQ(packing.slices.size(), 2U);
  EXPECT_EQ(packing.slices[0].model, 0U);
  EXPECT_EQ(packing.slices[1].model, 1U);
}

TEST(MigPlanTest, EveryPackingIsLegalAndCarriesThePeaks) {
  // Peaks of many sizes, in a sequence that is the same each time.
  unsigned state = 1;
  const auto next = [&state](unsigned below) {
    state = state * 1'103'515'245U + 12'345U;
    return (state >> 16U) % below;
  };
  for (int round = 0; round < 60; ++round) {
    std::vector<MigModel> models;
    for (const char* name : {"a", "b", "c"}) {
      models.push_back(Model(
          name, 20 + next(300),
          {{k1g, 50 + next(50)}, {k2g, 90 + next(100)}, {k3g, 150 + next(150)}},
          1000 + next(40'000)));
    }
    const MigPacking packing = Packed(models);
    std::map<int64_t, MigCounts> layouts;
    std::vector<double> rates(models.size());
    for (const MigSlice& slice : packing.slices) {
      ++layouts[slice.device][slice.profile];
      ASSERT_TRUE(slice.model.has_value());
      const MigModel& model = models[*slice.model];
      EXPECT_LE(model.memory_mib, H200().profiles[slice.profile].memory_mib);
      rates[*slice.model] += model.rates[slice.profile];
    }
    EXPECT_EQ(layouts.size(), static_cast<size_t>(packing.devices));
    for (const auto& layout : layouts) {
      EXPECT_THAT(LegalLayouts(), ::testing::Contains(layout.second));
    }
    for (size_t i = 0; i < models.size(); ++i) {
      EXPECT_GE(rates[i], models[i].peak_rate * (1 - 1e-9)) << round;
    }
  }
}

// Returns whether slices, from one on, can be given to models such that each
// has its peak.
bool CanCarry(const std::vector<size_t>& slices, size_t first,
              const std::vector<MigModel>& models, std::vector<double> rates) {
  if (first == slices.size()) {
    for (size_t i = 0; i < models.size(); ++i) {
      if (rates[i] < models[i].peak_rate * (1 - 1e-12)) {
        return false;
      }
    }
    return true;
  }
  const size_t profile = slices[first];
  for (size_t i = 0; i < models.size(); ++i) {
    if (models[i].memory_mib >
        static_cast<double>(H200().profiles[profile].memory_mib)) {
      continue;
    }
    auto next = rates;
    next[i] += models[i].rates[profile];
    if (CanCarry(slices, first + 1, models, next)) {
      return true;
    }
  }
  return false;
}

// Tries every layout of one device: the fewest SMs that will do, or nothing.
std::optional<int64_t> FewestSms(const std::vector<MigModel>& models) {
  std::optional<int64_t> fewest;
  for (const MigCounts& layout : LegalLayouts()) {
    std::vector<size_t> slices;
    for (size_t profile = 0; profile < kMigProfiles; ++profile) {
      slices.insert(slices.end(), static_cast<size_t>(layout[profile]),
                    profile);
    }
    const int64_t sms = SmsOf(H200(), layout);
    if (sms < fewest.value_or(sms + 1) &&
        CanCarry(slices, 0, models, std::vector<double>(models.size()))) {
      fewest = sms;
    }
  }
  return fewest;
}

TEST(MigPlanTest, NoLayoutOfOneDeviceIsBetter) {
  unsigned state = 7;
  const auto next = [&state](unsigned below) {
    state = state * 1'103'515'245U + 12'345U;
    return (state >> 16U) % below;
  };
  int on_one = 0;
  for (int round = 0; round < 200; ++round) {
    std::vector<MigModel> models;
    for (const char* name : {"a", "b", "c"}) {
      models.push_back(Model(name, 20 + next(200),
                             {{k1g, 50 + next(50)},
                              {k1gTwice, 50 + next(60)},
                              {k2g, 90 + next(100)},
                              {k3g, 150 + next(150)}},
                             1000 + next(60'000)));
    }
    const std::optional<int64_t> fewest = FewestSms(models);
    const MigPacking packing = Packed(models);
    EXPECT_EQ(packing.devices == 1, fewest.has_value()) << round;
    if (packing.devices == 1) {
      EXPECT_EQ(packing.sms_held, fewest) << round;
      ++on_one;
    }
  }
  EXPECT_GT(on_one, 50) << "or the test shows little";
  EXPECT_LT(on_one, 190);
}

TEST(MigPlanTest, GivenLayoutIsKept) {
  const MigCounts layout = {2, 0, 0, 1, 1, 0, 0};
  const auto packing =
      PackMig(H200(), {Model("a", 300, {{k1g, 100}})}, 1, layout);
  ASSERT_TRUE(packing.ok()) << packing.status();
  EXPECT_EQ(packing->devices, 2) << "two 1g each";
  EXPECT_EQ(packing->slices.size(), 8U);
  EXPECT_FALSE(packing->slices.front().model.has_value()) << "a 3g is free";
  EXPECT_THAT(
      Refusal({Model("a", 1, {{k7g, 100}})}, layout),
      HasSubstr("at most 8 of H200-141GB divided into 3g.71gb + 2g.35gb "
                "+ 2 x 1g.18gb carry"));
}

TEST(MigPlanTest, MoreThanEightDevicesAreNotPlanned) {
  EXPECT_EQ(Packed({Model("a", 5600, {{k1g, 100}})}).devices, 8);
  EXPECT_THAT(Refusal({Model("a", 5601, {{k1g, 100}})}),
              HasSubstr("what at most 8 of H200-141GB carry"));
  EXPECT_THAT(Refusal({}), HasSubstr("models: expected 1 to 16, got 0"));
}

TEST(SharedDevicesTest, SharesAddUpAndMemoryToo) {
  MigModel half = Model("a", 50, {}, 60'000);
  half.whole_rate = 100;
  half.mps_rate = 80;
  MigModel other = half;
  other.name = "b";
  const auto one =
      PlanSharedDevices(H200(), {half, other}, 1, SharedBy::kOneProcess);
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_EQ(one->devices, 1);
  EXPECT_DOUBLE_EQ(one->devices_used, 1);
  EXPECT_EQ(
      PlanSharedDevices(H200(), {half, other}, 1, SharedBy::kMps)->devices, 2);
  other.memory_mib = 90'000;
  EXPECT_THAT(std::string(PlanSharedDevices(H200(), {half, other}, 1,
                                            SharedBy::kOneProcess)
                              .status()
                              .message()),
              HasSubstr("all models together take 150000 MiB of 143771"));
  other.mps_rate = 0;
  EXPECT_THAT(
      std::string(PlanSharedDevices(H200(), {half, other}, 1, SharedBy::kMps)
                      .status()
                      .message()),
      HasSubstr("no rate of model 'b' measured by MPS"));
}

std::string File(const std::string& models,
                 const std::string& device = "H200-141GB") {
  return absl::StrCat(R"({"source": "s", "device": ")", device,
                      R"(", "models": [)", models, "]}");
}

std::string Json(const std::string& more,
                 const std::string& rate = R"({"1g.18gb": 10})") {
  return absl::StrCat(R"({"name": "a", "memory_mib": 5, "rate": )", rate, ", ",
                      more, "}");
}

constexpr char kPeak[] = R"("peak_rate": 5)";

std::string FileRefusal(const std::string& text) {
  return std::string(ParseMigModels(text, "m.json", H200()).status().message());
}

TEST(MigModelsTest, TakesEveryKey) {
  const auto file = ParseMigModels(
      File(Json(R"("requests_per_day": 86400, "peak_factor": 3)",
                R"({"1g.18gb": 10, "7g.141gb": 70, "whole": 90, "mps": 80})"),
           "H200"),
      "m.json", H200());
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->source, "s");
  const MigModel& model = file->models.front();
  EXPECT_EQ(model.name, "a");
  EXPECT_DOUBLE_EQ(model.peak_rate, 3);
  EXPECT_EQ(model.memory_mib, 5);
  EXPECT_EQ(model.rates[k1g], 10);
  EXPECT_EQ(model.rates[k2g], 0);
  EXPECT_EQ(model.rates[k7g], 70);
  EXPECT_EQ(model.whole_rate, 90);
  EXPECT_EQ(model.mps_rate, 80);
}

TEST(MigModelsTest, RatesOfAnotherDeviceAreRefused) {
  for (const char* device : {"H100-80GB", "L4"}) {
    EXPECT_THAT(FileRefusal(File(Json(kPeak), device)),
                AllOf(HasSubstr("m.json: device: expected rates measured on "
                                "H200-141GB, as --device has it"),
                      HasSubstr(device)));
  }
  EXPECT_THAT(FileRefusal(File(Json(kPeak, R"({"1g.10gb": 10})"))),
              HasSubstr("for '1g.10gb'"));
}

TEST(MigModelsTest, WrongFilesAreRefusedByTheirPlace) {
  EXPECT_THAT(FileRefusal("{"), HasSubstr("m.json: expected JSON"));
  EXPECT_THAT(FileRefusal(File("")), HasSubstr("models: expected a list"));
  EXPECT_THAT(FileRefusal(File(Json(R"("peak": 5)"))),
              HasSubstr("models[0]: peak_rate: expected"));
  EXPECT_THAT(FileRefusal(File(Json(R"("requests_per_day": 5)"))),
              HasSubstr("peak_rate: expected"));
  EXPECT_THAT(
      FileRefusal(File(Json(R"("requests_per_day": 5, "peak_factor": 0.5)"))),
      HasSubstr("peak_factor: expected the peak over the mean"));
  EXPECT_THAT(FileRefusal(File(Json(R"("peak_rate": 5, "slo": 1)"))),
              HasSubstr("for 'slo'"));
  EXPECT_THAT(FileRefusal(File(Json(kPeak, R"({"whole": 0})"))),
              HasSubstr("models[0]: rate: whole: expected the requests/s"));
  EXPECT_THAT(FileRefusal(File(Json(kPeak, "5"))),
              HasSubstr("rate: expected an object"));
  EXPECT_THAT(FileRefusal(File(Json(kPeak) + ", " + Json(kPeak))),
              HasSubstr("models[1]: expected each model once"));
  EXPECT_THAT(
      FileRefusal(File(R"({"name": "a\nb", "peak_rate": 1, "memory_mib": 5,
                           "rate": {"1g.18gb": 1}})")),
      HasSubstr("name: expected a name of at most 63 letters"));
  EXPECT_THAT(FileRefusal(File(R"({"name": "..", "peak_rate": 1,
                                   "memory_mib": 5, "rate": {"mps": 1}})")),
              HasSubstr("the first a letter"));
}

}  // namespace
}  // namespace ferry::plan

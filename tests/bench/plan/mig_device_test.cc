// Tests the tables of MIG profiles, and every layout, against what NVIDIA
// publishes.
#include "bench/plan/mig_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_split.h"

namespace ferry::plan {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

MigDevice Device(const std::string& name) {
  const auto device = FindMigDevice(name);
  EXPECT_TRUE(device.ok()) << device.status();
  return *device;
}

std::vector<std::string> Names(const std::string& text) {
  return absl::StrSplit(text, ' ', absl::SkipEmpty());
}

std::string Refusal(const std::string& device, const std::string& names) {
  return std::string(
      CheckLayout(Device(device), Names(names)).status().message());
}

bool IsLegal(const std::string& device, const std::string& names) {
  return CheckLayout(Device(device), Names(names)).ok();
}

// The names and "Number of Instances Available" of the MIG User Guide's tables.
const std::map<std::string, std::map<std::string, int>>& Published() {
  static const auto& tables =
      *new std::map<std::string, std::map<std::string, int>>{
          {"A100-40GB",
           {{"1g.5gb", 7},
            {"1g.5gb+me", 1},
            {"1g.10gb", 4},
            {"2g.10gb", 3},
            {"3g.20gb", 2},
            {"4g.20gb", 1},
            {"7g.40gb", 1}}},
          {"A100-80GB",
           {{"1g.10gb", 7},
            {"1g.10gb+me", 1},
            {"1g.20gb", 4},
            {"2g.20gb", 3},
            {"3g.40gb", 2},
            {"4g.40gb", 1},
            {"7g.80gb", 1}}},
          {"H100-80GB",
           {{"1g.10gb", 7},
            {"1g.10gb+me", 1},
            {"1g.20gb", 4},
            {"2g.20gb", 3},
            {"3g.40gb", 2},
            {"4g.40gb", 1},
            {"7g.80gb", 1}}},
          {"H200-141GB",
           {{"1g.18gb", 7},
            {"1g.18gb+me", 1},
            {"1g.35gb", 4},
            {"2g.35gb", 3},
            {"3g.71gb", 2},
            {"4g.71gb", 1},
            {"7g.141gb", 1}}},
          {"B200-180GB",
           {{"1g.23gb", 7},
            {"1g.23gb+me", 1},
            {"1g.45gb", 4},
            {"2g.45gb", 3},
            {"3g.90gb", 2},
            {"4g.90gb", 1},
            {"7g.180gb", 1}}}};
  return tables;
}

TEST(MigDeviceTest, AsManyOfEachProfileAsPublishedAndNoMore) {
  ASSERT_EQ(MigDevices().size(), Published().size());
  for (const auto& [device, profiles] : Published()) {
    ASSERT_EQ(profiles.size(), kMigProfiles);
    for (const auto& [profile, count] : profiles) {
      std::vector<std::string> names(static_cast<size_t>(count), profile);
      EXPECT_TRUE(CheckLayout(Device(device), names).ok()) << profile;
      names.push_back(profile);
      EXPECT_THAT(
          std::string(CheckLayout(Device(device), names).status().message()),
          HasSubstr("expected at most " + std::to_string(count)));
    }
  }
}

TEST(MigDeviceTest, SlicesHaveLessThanTheDevice) {
  for (const MigDevice& device : MigDevices()) {
    for (const MigProfile& profile : device.profiles) {
      EXPECT_LE(profile.sms, device.sms) << device.name << profile.name;
      EXPECT_LT(profile.memory_mib, device.memory_mib + 1);
    }
    for (const MigCounts& layout : LegalLayouts()) {
      EXPECT_LE(SmsOf(device, layout), device.sms)
          << device.name << ": " << LayoutText(device, layout);
    }
  }
}

TEST(MigDeviceTest, SevenSlicesOfAnH200Hold112Of132Sms) {
  EXPECT_EQ(SmsOf(Device("H200"), {7, 0, 0, 0, 0, 0, 0}), 112);
  EXPECT_EQ(Device("H200").sms, 132);
}

// The figure "Profiles on A100" of the MIG User Guide has 19 rows; those that
// differ by place alone are one here. Each fills the device. H100, H200 and
// B200 have the same figure with other names.
TEST(MigDeviceTest, FullLayoutsAreThoseOfThePublishedFigure) {
  const std::set<MigCounts> figure = {
      {0, 0, 0, 0, 0, 0, 1},                         // 7
      {0, 0, 0, 0, 1, 1, 0}, {1, 0, 0, 1, 0, 1, 0},  // 4 3; 4 2 1
      {3, 0, 0, 0, 0, 1, 0}, {0, 0, 0, 0, 2, 0, 0},  // 4 1 1 1; 3 3
      {1, 0, 0, 1, 1, 0, 0}, {3, 0, 0, 0, 1, 0, 0},  // 3 2 1; 3 1 1 1
      {0, 0, 0, 2, 1, 0, 0}, {2, 0, 0, 1, 1, 0, 0},  // 2 2 3; 2 1 1 3
      {4, 0, 0, 0, 1, 0, 0}, {1, 0, 0, 3, 0, 0, 0},  // 1 1 1 1 3; 2 2 2 1
      {3, 0, 0, 2, 0, 0, 0}, {5, 0, 0, 1, 0, 0, 0},  // 2 2 1 1 1; 2 1 ..
      {7, 0, 0, 0, 0, 0, 0}};                        // 1 1 1 1 1 1 1
  const std::vector<MigCounts>& legal = LegalLayouts();
  for (const MigCounts& row : figure) {
    EXPECT_NE(std::find(legal.begin(), legal.end(), row), legal.end())
        << LayoutText(Device("A100-40GB"), row);
  }
  for (const MigCounts& layout : legal) {
    const bool is_part_of_a_row =
        std::any_of(figure.begin(), figure.end(), [&](const MigCounts& row) {
          for (size_t i = 0; i < kMigProfiles; ++i) {
            if (layout[i] > row[i]) {
              return false;
            }
          }
          return true;
        });
    // Those with media engines or twice the memory are not in the figure.
    EXPECT_EQ(is_part_of_a_row, layout[1] == 0 && layout[2] == 0)
        << LayoutText(Device("A100-40GB"), layout);
  }
}

// Counted by another program, with the placements that `nvidia-smi mig -lgipp`
// prints: {0-6}:1, {0-6}:1, {0,2,4,6}:2, {0,2,4}:2, {0,4}:4, {0}:4, {0}:8.
TEST(MigDeviceTest, NumberOfLayouts) {
  const std::vector<MigCounts>& legal = LegalLayouts();
  EXPECT_EQ(legal.size(), 127U);
  EXPECT_EQ(std::set<MigCounts>(legal.begin(), legal.end()).size(), 127U);
  const auto is_maximal = [&](const MigCounts& layout) {
    return std::none_of(legal.begin(), legal.end(), [&](const MigCounts& more) {
      bool has_all = more != layout;
      for (size_t i = 0; i < kMigProfiles; ++i) {
        has_all = has_all && more[i] >= layout[i];
      }
      return has_all;
    });
  };
  EXPECT_EQ(std::count_if(legal.begin(), legal.end(), is_maximal), 44);
}

TEST(MigDeviceTest, WhatFitsAndWhatDoesNot) {
  EXPECT_TRUE(IsLegal("H200", "3g.71gb 3g.71gb"));
  EXPECT_TRUE(IsLegal("H200", "4g.71gb 3g.71gb"));
  EXPECT_TRUE(IsLegal("H200", "1g.18gb 1g.18gb 2g.35gb 3g.71gb"))
      << "all-balanced of mig-parted";
  EXPECT_TRUE(IsLegal("H200", "1g.35gb 2g.35gb 2g.35gb 2g.35gb"));
  EXPECT_TRUE(IsLegal("H200", "1g.18gb+me 1g.18gb 1g.18gb 1g.18gb"));
  EXPECT_THAT(Refusal("H200", "3g.71gb 3g.71gb 1g.18gb"),
              HasSubstr("expected at most 8 memory slices, got 9: 2 x 3g.71gb "
                        "+ 1g.18gb"));
  EXPECT_THAT(Refusal("H200", "4g.71gb 4g.71gb"),
              HasSubstr("at most 1 of 4g.71gb on one H200-141GB, got 2"));
  EXPECT_THAT(Refusal("H200", "4g.71gb 2g.35gb 2g.35gb"),
              HasSubstr("at most 7 compute slices, got 8"));
  EXPECT_THAT(Refusal("A100-80GB", "7g.80gb 1g.10gb"),
              HasSubstr("at most 7 compute slices, got 8"));
  EXPECT_THAT(Refusal("H200", "1g.35gb 1g.35gb 1g.35gb 1g.35gb 1g.18gb"),
              HasSubstr("at most 8 memory slices, got 9"));
}

// Adds every count of each profile from `profile` on, up to the published one.
void AddCounts(size_t profile, MigCounts counts, std::set<MigCounts>& all) {
  if (profile == kMigProfiles) {
    all.insert(counts);
    return;
  }
  for (int n = 0; n <= MigShapes()[profile].max_count; ++n) {
    counts[profile] = n;
    AddCounts(profile + 1, counts, all);
  }
}

TEST(MigDeviceTest, CountsAndSumsSayWhatHasAPlace) {
  std::set<MigCounts> all;
  AddCounts(0, {}, all);
  all.erase(MigCounts{});
  const std::vector<MigCounts>& legal = LegalLayouts();
  for (const MigCounts& counts : all) {
    EXPECT_EQ(ComputeSlices(counts) <= 7 && MemorySlices(counts) <= 8,
              std::find(legal.begin(), legal.end(), counts) != legal.end())
        << LayoutText(Device("H200"), counts);
  }
}

TEST(MigDeviceTest, ProfilesOfAnotherDeviceAndUnknownDevicesAreRefused) {
  EXPECT_THAT(Refusal("H200", "1g.10gb"),
              AllOf(HasSubstr("expected profiles of H200-141GB (1g.18gb, "),
                    HasSubstr("got '1g.10gb'")));
  EXPECT_THAT(Refusal("H200", ""), HasSubstr("got none"));
  for (const char* name : {"A100", "L4", ""}) {
    EXPECT_THAT(std::string(FindMigDevice(name).status().message()),
                HasSubstr("device: expected one of A100-40GB, A100-80GB"));
  }
}

}  // namespace
}  // namespace ferry::plan

// Implements FakeScenario: reads a scenario line by line.
#include "tests/models/nvml/fake_scenario.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace ferry::nvml {
namespace {

const char* const kGpuSeries[] = {"power_mw", "limit_mw",    "energy_mj",
                                  "celsius",  "sm_mhz",      "memory_mhz",
                                  "busy",     "memory_busy", "used_mib"};

Pairs ReadPairs(std::istream& line) {
  Pairs pairs;
  for (std::string word; line >> word;) {
    const size_t equals = word.find('=');
    std::string value =
        equals == std::string::npos ? "" : word.substr(equals + 1);
    const std::string name = word.substr(0, equals);
    if (name == "name") {
      std::replace(value.begin(), value.end(), '_', ' ');
    }
    pairs[name] = value;
  }
  return pairs;
}

FakeDevice MakeDevice(Pairs pairs) {
  FakeDevice device;
  for (const auto& [name, value] : pairs) {
    const bool is_series =
        name.rfind("gpm.", 0) == 0 ||
        std::find(std::begin(kGpuSeries), std::end(kGpuSeries), name) !=
            std::end(kGpuSeries);
    if (is_series) {
      device.series[name].Set(value);
    }
  }
  device.pairs = std::move(pairs);
  return device;
}

uint32_t ToNumber(const Pairs& pairs, const std::string& name) {
  const auto found = pairs.find(name);
  return found == pairs.end() ? 0
                              : static_cast<uint32_t>(std::strtoul(
                                    found->second.c_str(), nullptr, 10));
}

FakeCode MakeCode(const Pairs& pairs) {
  FakeCode code;
  code.call = pairs.at("call");
  code.code = static_cast<int32_t>(ToNumber(pairs, "code"));
  if (pairs.count("gpu") > 0) {
    code.gpu = ToNumber(pairs, "gpu");
  }
  if (pairs.count("of") > 0) {
    code.of = pairs.at("of");
  }
  return code;
}

// Says whether the line could be read.
bool AddLine(const std::string& word, Pairs pairs, FakeScenario& out) {
  if (word == "driver") {
    out.driver = std::move(pairs);
  } else if (word == "gpu") {
    out.gpus.push_back(MakeDevice(std::move(pairs)));
    out.gpus.back().index = static_cast<uint32_t>(out.gpus.size() - 1);
  } else if (word == "mig") {
    out.migs.push_back(MakeDevice(std::move(pairs)));
    out.migs.back().place = ToNumber(out.migs.back().pairs, "place");
  } else if (word == "code") {
    out.codes.push_back(MakeCode(pairs));
  } else if (word == "lost") {
    out.lost_after = ToNumber(pairs, "after");
    if (pairs.count("code") > 0) {
      out.lost_code = static_cast<int32_t>(ToNumber(pairs, "code"));
    }
  } else if (word == "hang") {
    out.hang_while = pairs["while"];
  } else {
    std::fprintf(stderr, "fake NVML: unknown line '%s'\n", word.c_str());
    return false;
  }
  return true;
}

}  // namespace

void Series::Set(const std::string& text) {
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    values_.push_back(std::strtod(part.c_str(), nullptr));
  }
}

double Series::Next() { return At(asked_++); }

double Series::At(size_t n) const {
  return values_[std::min(n, values_.size() - 1)];
}

std::string FakeDevice::Text(const std::string& name) const {
  const auto found = pairs.find(name);
  return found == pairs.end() ? "" : found->second;
}

std::optional<uint64_t> FakeDevice::Number(const std::string& name) const {
  const auto found = pairs.find(name);
  return found == pairs.end() ? std::nullopt
                              : std::optional<uint64_t>(std::strtoull(
                                    found->second.c_str(), nullptr, 10));
}

std::optional<double> FakeDevice::Next(const std::string& name) {
  const auto found = series.find(name);
  return found == series.end() ? std::nullopt
                               : std::optional<double>(found->second.Next());
}

std::optional<FakeScenario> FakeScenario::Read(const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    std::fprintf(stderr, "fake NVML: cannot read '%s'\n", path.c_str());
    return std::nullopt;
  }
  FakeScenario scenario;
  for (std::string text; std::getline(file, text);) {
    std::istringstream line(text.substr(0, text.find('#')));
    std::string word;
    if (line >> word && !AddLine(word, ReadPairs(line), scenario)) {
      return std::nullopt;
    }
  }
  return scenario;
}

}  // namespace ferry::nvml

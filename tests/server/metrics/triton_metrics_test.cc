// Tests the metrics that have Triton's names: what each counts, in its units.
#include "server/metrics/triton_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "absl/strings/str_replace.h"
#include "models/nvml/device_choice.h"
#include "server/metrics/metrics.h"
#include "tests/models/nvml/scenarios.h"
#include "tests/server/borrowed_models.h"
#include "tests/server/scripted_model.h"
#include "tests/support/fake_clock.h"
#include "tests/support/test_request.h"

namespace ferry {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr Duration kPatience = std::chrono::seconds(20);

TEST(TritonMetrics, ModelsAreCountedInItsUnits) {
  ScriptedModel model("m", 3);
  BorrowedTable table({&model.model()});
  TestRequest request({.rows = 2});
  ASSERT_TRUE(model.scheduler().Submit(request.request()).ok());
  model.clock().Advance(Milliseconds(2));
  model.Step();
  model.instances().Stage(0);
  model.clock().Advance(Milliseconds(500));
  model.instances().CompleteAll();
  model.Step();
  table.UseAll().front()->invalid_requests = 4;
  TestRequest waiting({.rows = 1});
  ASSERT_TRUE(model.scheduler().Submit(waiting.request()).ok());
  const std::string text = ToPrometheusText(TritonMetrics(table, nullptr));
  const std::string labels = "{model=\"m\",version=\"3\"";
  for (const auto& [name, value] :
       {std::pair("nv_inference_request_success", "1"),
        std::pair("nv_inference_count", "2"),
        std::pair("nv_inference_exec_count", "1"),
        std::pair("nv_inference_pending_request_count", "1"),
        std::pair("nv_inference_queue_duration_us", "2000"),
        std::pair("nv_inference_compute_infer_duration_us", "500000"),
        std::pair("nv_inference_request_duration_us", "502000"),
        std::pair("nv_inference_compute_input_duration_us", "0"),
        std::pair("nv_inference_compute_output_duration_us", "0")}) {
    EXPECT_THAT(text, HasSubstr(name + labels + "} " + value + "\n")) << name;
  }
  for (const auto& [reason, value] :
       {std::pair("REJECTED", "0"), std::pair("CANCELED", "0"),
        std::pair("BACKEND", "0"), std::pair("OTHER", "4")}) {
    EXPECT_THAT(text, HasSubstr("nv_inference_request_failure" + labels +
                                ",reason=\"" + reason + "\"} " + value + "\n"))
        << reason;
  }
  EXPECT_THAT(text, Not(HasSubstr("nv_gpu")));
  model.Step();
  model.instances().CompleteAll();
}

TEST(TritonMetrics, FailuresHaveItsReasons) {
  SchedulerOptions options;
  options.queue.requests = 1;
  ScriptedModel model("m", 3, options);
  BorrowedTable table({&model.model()});
  TestRequest first({.rows = 1});
  TestRequest refused({.rows = 1});
  ASSERT_TRUE(model.scheduler().Submit(first.request()).ok());
  ASSERT_FALSE(model.scheduler().Submit(refused.request()).ok());
  model.scheduler().Cancel(first.request());
  model.Step();
  TestRequest broken({.rows = 1});
  ASSERT_TRUE(model.scheduler().Submit(broken.request()).ok());
  model.Step();
  model.instances().Stage(0);
  model.instances().Complete(0, {absl::StatusCode::kInternal, "failed"});
  model.Step();
  const std::string text = ToPrometheusText(TritonMetrics(table, nullptr));
  for (const char* reason : {"REJECTED", "CANCELED", "BACKEND"}) {
    EXPECT_THAT(text, HasSubstr(std::string("reason=\"") + reason + "\"} 1\n"));
  }
}

class TritonDeviceMetricsTest : public ::testing::Test {
 protected:
  std::string Text(const std::string& scenario, const std::string& uuid) {
    auto library = nvml::StartFake(scenario);
    EXPECT_TRUE(library.ok()) << library.status();
    const auto devices = nvml::ListDevices(**library);
    EXPECT_TRUE(devices.ok()) << devices.status();
    const auto choice = nvml::Choose(*nvml::ParseDevice(uuid), *devices);
    EXPECT_TRUE(choice.ok()) << choice.status();
    FakeClock clock;
    const auto sampler = nvml::DeviceSampler::Create(**library, uuid, clock);
    EXPECT_TRUE(sampler.ok()) << sampler.status();
    clock.Advance(Milliseconds(200));  // an interval for GPM
    DeviceMetrics device(**library, *choice,
                         [&] { return (*sampler)->Read(); });
    device.Refresh(kPatience);
    return ToPrometheusText(TritonMetrics(ModelTable(), &device));
  }
};

TEST_F(TritonDeviceMetricsTest, GpuHasItsUnits) {
  const std::string text = Text(nvml::WholeGpu(), nvml::kGpuUuid);
  const std::string labels =
      std::string("{gpu_uuid=\"") + nvml::kGpuUuid + "\"} ";
  for (const auto& [name, value] :
       {std::pair("nv_gpu_utilization", "0.5"),
        std::pair("nv_gpu_memory_total_bytes", "85520809984"),
        std::pair("nv_gpu_memory_used_bytes", "2097152000"),
        std::pair("nv_gpu_power_usage", "350.5"),
        std::pair("nv_gpu_power_limit", "700"),
        std::pair("nv_energy_consumption", "5")}) {
    EXPECT_THAT(text, HasSubstr(name + labels + value + "\n")) << name;
  }
}

TEST_F(TritonDeviceMetricsTest, SliceHasItsOwnMemoryAndTheGpusPower) {
  const std::string scenario = absl::StrReplaceAll(
      nvml::MixedMig(), {{"gpm.2=75", "gpm.1=60 gpm.2=75"}});
  const std::string text = Text(scenario, nvml::kFirstMig);
  const auto of = [](const std::string& name, const char* uuid) {
    return name + "{gpu_uuid=\"" + uuid + "\"} ";
  };
  EXPECT_THAT(text, HasSubstr(of("nv_gpu_memory_used_bytes", nvml::kFirstMig)));
  EXPECT_THAT(text,
              HasSubstr(of("nv_gpu_utilization", nvml::kFirstMig) + "0.6\n"));
  EXPECT_THAT(text, HasSubstr(of("nv_gpu_power_usage", nvml::kGpuUuid)));
}

}  // namespace
}  // namespace ferry

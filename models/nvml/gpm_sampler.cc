// Implements GpmSampler: takes two samples and reads what lies between them.
#include "models/nvml/gpm_sampler.h"

#include <cmath>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"

namespace ferry::nvml {
namespace {

constexpr double kPerPercent = 0.01;
constexpr double kBytesPerMib = 1 << 20;

struct Wanted {
  GpmMetricId id;
  const char* name;  // in the table of calls
  std::optional<double> GpmReadings::*field;
  double unit;
};

constexpr Wanted kWanted[] = {
    {GpmMetricId::kGraphicsPercent, "GRAPHICS_UTIL",
     &GpmReadings::graphics_ratio, kPerPercent},
    {GpmMetricId::kSmPercent, "SM_UTIL", &GpmReadings::sm_ratio, kPerPercent},
    {GpmMetricId::kSmOccupancyPercent, "SM_OCCUPANCY",
     &GpmReadings::sm_occupancy_ratio, kPerPercent},
    {GpmMetricId::kAnyTensorPercent, "ANY_TENSOR_UTIL",
     &GpmReadings::tensor_ratio, kPerPercent},
    {GpmMetricId::kHmmaTensorPercent, "HMMA_TENSOR_UTIL",
     &GpmReadings::hmma_ratio, kPerPercent},
    {GpmMetricId::kDramBandwidthPercent, "DRAM_BW_UTIL",
     &GpmReadings::dram_ratio, kPerPercent},
    {GpmMetricId::kPcieSentMibPerSecond, "PCIE_TX_PER_SEC",
     &GpmReadings::pcie_sent_bytes_per_second, kBytesPerMib},
    {GpmMetricId::kPcieReceivedMibPerSecond, "PCIE_RX_PER_SEC",
     &GpmReadings::pcie_received_bytes_per_second, kBytesPerMib},
};
static_assert(std::size(kWanted) <= kMaxGpmMetrics);

}  // namespace

GpmSampler::GpmSampler(const Library& library, DeviceHandle device,
                       Subject subject, DeviceHandle gpu, const Clock& clock)
    : library_(library),
      device_(device),
      subject_(subject),
      gpu_(gpu),
      clock_(clock) {
  if (!IsSupported()) {
    return;
  }
  const Symbols& nvml = library_.symbols();
  if (subject_ == Subject::kMig) {
    gpu_instance_ = library_.Get(nvml.gpu_instance, subject_, device_);
  }
  if (library_.Call(nvml.gpm_sample_alloc, subject_, &older_) !=
      Code::kSuccess) {
    older_ = nullptr;
    return;
  }
  if (library_.Call(nvml.gpm_sample_alloc, subject_, &newer_) !=
      Code::kSuccess) {
    newer_ = nullptr;
    return;
  }
  query_ = std::make_unique<GpmMetricsGet>();
  Read();
}

GpmSampler::~GpmSampler() {
  for (const GpmSampleHandle sample : {older_, newer_}) {
    if (sample != nullptr) {
      library_.Call(library_.symbols().gpm_sample_free, subject_, sample);
    }
  }
}

bool GpmSampler::IsSupported() const {
  GpmSupport support{};
  support.version = kGpmSupportVersion;
  const DeviceHandle asked = gpu_ == nullptr ? device_ : gpu_;
  return library_.Call(library_.symbols().gpm_support, Subject::kGpu, asked,
                       &support) == Code::kSuccess &&
         support.is_supported != 0;
}

bool GpmSampler::Take(GpmSampleHandle sample, Way way) const {
  const Symbols& nvml = library_.symbols();
  const Code code =
      way == Way::kThroughGpu
          ? library_.Call(nvml.gpm_mig_sample, subject_, gpu_, *gpu_instance_,
                          sample)
          : library_.Call(nvml.gpm_sample, subject_, device_, sample);
  return code == Code::kSuccess;
}

bool GpmSampler::TakeFirst() {
  if (gpu_instance_.has_value() && gpu_ != nullptr &&
      Take(older_, Way::kThroughGpu)) {
    way_ = Way::kThroughGpu;
    return true;
  }
  way_ = Way::kByHandle;
  return Take(older_, Way::kByHandle);
}

GpmReadings GpmSampler::Means() {
  const Symbols& nvml = library_.symbols();
  query_->version = kGpmMetricsGetVersion;
  query_->count = std::size(kWanted);
  query_->older = older_;
  query_->newer = newer_;
  for (size_t i = 0; i < std::size(kWanted); ++i) {
    query_->metrics[i] = GpmMetric();
    query_->metrics[i].id = kWanted[i].id;
    query_->metrics[i].code = Code::kNoData;
  }
  GpmReadings means;
  if (library_.Call(nvml.gpm_metrics, subject_, query_.get()) !=
      Code::kSuccess) {
    return means;
  }
  for (size_t i = 0; i < std::size(kWanted); ++i) {
    const GpmMetric& metric = query_->metrics[i];
    const bool is_number = std::isfinite(metric.value);
    const Code code = metric.code == Code::kSuccess && !is_number
                          ? Code::kNoData
                          : metric.code;
    library_.Count(absl::StrCat(nvml.gpm_metrics.name, " ", kWanted[i].name),
                   subject_, code);
    if (code == Code::kSuccess) {
      means.*kWanted[i].field = metric.value * kWanted[i].unit;
    }
  }
  return means;
}

GpmReadings GpmSampler::Read() {
  if (query_ == nullptr) {
    return {};
  }
  const TimePoint now = clock_.Now();
  if (!taken_.has_value()) {
    if (TakeFirst()) {
      taken_ = now;
    }
    return {};
  }
  if (now - *taken_ <= kMinInterval) {
    return last_;
  }
  if (!Take(newer_, way_)) {
    last_ = {};
    return {};
  }
  last_ = Means();
  std::swap(older_, newer_);
  taken_ = now;
  return last_;
}

}  // namespace ferry::nvml

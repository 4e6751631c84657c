// Implements RuntimeOptionsClient: two blocking calls.
#include "bench/search/runtime_options_client.h"

#include <chrono>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"

namespace ferry::bench {
namespace {

constexpr Duration kCallLimit = std::chrono::seconds(10);

absl::Status WithSubject(const absl::Status& status) {
  return absl::IsUnimplemented(status)
             ? status
             : absl::Status(status.code(), absl::StrCat("runtime options: ",
                                                        status.message()));
}

}  // namespace

RuntimeOptionsClient::RuntimeOptionsClient(const std::string& address,
                                           std::string model,
                                           ConnectionOptions connection)
    : model_(std::move(model)),
      admin_(address, std::move(connection), kCallLimit) {}

absl::StatusOr<RuntimeSetting> RuntimeOptionsClient::Get() const {
  v1::GetRuntimeOptionsRequest request;
  request.set_model_name(model_);
  const auto runtime_options = admin_.Get(request);
  if (!runtime_options.ok()) {
    return WithSubject(runtime_options.status());
  }
  return RuntimeSetting{
      runtime_options->policy(), runtime_options->max_batch_size(),
      static_cast<double>(runtime_options->max_wait_microseconds()) / 1e3};
}

absl::Status RuntimeOptionsClient::Set(const RuntimeSetting& setting) const {
  v1::SetRuntimeOptionsRequest request;
  request.set_model_name(model_);
  v1::RuntimeOptions& runtime_options = *request.mutable_runtime_options();
  runtime_options.set_policy(setting.policy);
  runtime_options.set_max_batch_size(setting.max_batch_size);
  runtime_options.set_max_wait_microseconds(
      std::llround(setting.max_wait_ms * 1e3));
  const auto set = admin_.Set(request);
  return set.ok() ? absl::OkStatus() : WithSubject(set.status());
}

absl::Status Restore(const RuntimeOptionsClient& runtime_options,
                     const RuntimeSetting& own) {
  const absl::Status first = runtime_options.Set(own);
  const absl::Status status = first.ok() ? first : runtime_options.Set(own);
  return status.ok() ? status
                     : absl::Status(
                           status.code(),
                           absl::StrCat("the server could not be turned back "
                                        "to ",
                                        Describe(own), ": ", status.message()));
}

}  // namespace ferry::bench

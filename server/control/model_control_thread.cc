// Implements the thread of ModelControl: it loads, unloads, polls, destroys.
#include <pthread.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/signal_stack.h"
#include "models/repository/model_copies.h"
#include "models/warm_up_lines.h"
#include "server/client_text.h"
#include "server/control/load_warnings.h"
#include "server/control/model_control.h"
#include "server/control/return_memory.h"

namespace ferry {
namespace {

// A load whose failure may pass is tried again after 1, 2, 4, ... polls, at
// most 64.
constexpr int kMostDoublings = 6;

// Whether the same files may be loaded later: no memory, no space, no
// descriptors, a file that could not be read. What they say stays wrong.
bool MayPass(const absl::Status& failure) {
  return !absl::IsInvalidArgument(failure) && !absl::IsUnimplemented(failure);
}

// How often it looks whether the last call of a model that goes has ended.
constexpr Duration kLeavingPoll = std::chrono::milliseconds(20);

// Whether it is to be loaded so though its config does not choose it.
bool IsInFp32(const ModelPlan& plan) {
  const ModelOptions& options = plan.config.options;
  return options.precision == Precision::kFp32 && !options.is_precision_chosen;
}

double SecondsSince(TimePoint begin) {
  return std::chrono::duration<double>(Clock::Steady().Now() - begin).count();
}

// Whether it turns graphs off without naming them, as Triton's default has it.
bool RecordsNoGraphs(const inference::ModelConfig& config) {
  return config.optimization().has_cuda() &&
         !config.optimization().cuda().graphs() &&
         !config.parameters().contains("ferry.cuda_graphs");
}

void LogReady(const ServedModel& model, double seconds) {
  const SchedulerOptions& options = model.scheduler->options();
  spdlog::info(
      "model {} version={} is ready platform={} max_batch_size={} policy={} "
      "max_wait_ms={} queue_requests={} queue_bytes={}{} seconds={:.1f}",
      model.name, model.version, model.platform, options.max_batch_size,
      PolicyName(options.policy),
      std::chrono::duration<double, std::milli>(options.max_wait).count(),
      options.queue.requests, options.queue.bytes,
      model.is_simulated ? " simulated=true" : "", seconds);
}

// Says what loading found out about precision and rows.
void LogReport(const ServedModel& model) {
  if (!model.serving_precision.empty()) {
    std::string compared;  // nothing of weights that are drawn, or native
    if (model.report.max_error.has_value()) {
      compared = absl::StrCat(" max_error=", model.max_error,
                              " output=", model.report.output,
                              " largest_size=", model.report.largest_size);
    }
    spdlog::info("model {} version={} precision asked={} serving={}{}",
                 model.name, model.version, model.asked_precision,
                 model.serving_precision, compared);
  }
  for (const std::string& warning : LoadWarnings(model)) {
    spdlog::warn("model {} version={} {}", model.name, model.version, warning);
  }
  if (const std::string note = LargeRequestNote(model); !note.empty()) {
    spdlog::info("model {} version={} {}", model.name, model.version, note);
  }
}

}  // namespace

void ModelControl::Run() {
  pthread_setname_np(pthread_self(), "ferry-control");
  const SignalStack for_handlers;  // a file may nest without end
  if (options_.mode == ModelControlMode::kPoll) {
    MutexLock lock(mutex_);
    poll_at_ = Clock::Steady().Now() + options_.poll_interval;
  }
  for (;;) {
    std::function<void()> job;
    bool polls = false;
    {
      MutexLock lock(mutex_);
      const TimePoint now = Clock::Steady().Now();
      begun_.reset();
      if (is_stopped_) {
        return;
      }
      if (!jobs_.empty()) {
        job = std::move(jobs_.front().first);
        jobs_.pop_front();
      } else if (now >= poll_at_) {
        polls = true;
      } else if (table_.leaving_count() == 0) {
        changed_.WaitUntil(mutex_, poll_at_);
      } else {
        changed_.WaitUntil(mutex_, now + kLeavingPoll);
      }
      if (job || polls) {
        begun_ = now;
      }
    }
    if (job) {
      job();
    } else if (polls) {
      PollNow();
      MutexLock lock(mutex_);
      poll_at_ = Clock::Steady().Now() + options_.poll_interval;
    }
    DestroyAbandoned();
  }
}

absl::Status ModelControl::LoadNow(const std::string& name,
                                   const std::string& config_json) {
  absl::StatusOr<ModelPlan> plan = repository_.Plan(name, config_json);
  if (!plan.ok()) {
    NoteUnreadable(name, plan.status());
    return plan.status();
  }
  absl::Status failure;
  std::map<int64_t, std::shared_ptr<ModelEntry>> loaded;
  for (const auto& [number, wanted] : plan->versions) {
    {
      MutexLock lock(mutex_);
      if (is_stopped_) {
        return absl::UnavailableError(kStopped);
      }
      Model& model = models_[name];
      model.reason.clear();
      Version& version = model.versions[number];
      if (version.state == VersionState::kReady &&
          version.fingerprint == wanted.fingerprint) {
        version.reason.clear();
        continue;
      }
      if (options_.mode == ModelControlMode::kPoll &&
          version.failed == wanted.fingerprint && version.polls_to_wait != 0) {
        failure.Update(absl::FailedPreconditionError(version.reason));
        continue;
      }
      if (version.state != VersionState::kReady) {
        version = {.state = VersionState::kLoading,
                   .failed = version.failed,
                   .failures = version.failures};
        Publish();
      }
    }
    absl::StatusOr<std::shared_ptr<ModelEntry>> entry =
        LoadVersion(*plan, number, config_json);
    const absl::Status told = repository_.ForClients(entry.status());
    MutexLock lock(mutex_);
    Version& version = models_[name].versions[number];
    if (entry.ok()) {
      loaded[number] = *std::move(entry);
      continue;
    }
    failure.Update(entry.status());
    version.reason = std::string(told.message());
    version.failures =
        version.failed == wanted.fingerprint ? version.failures + 1 : 1;
    version.polls_to_wait.reset();
    if (MayPass(entry.status())) {
      const int doublings = std::min(version.failures - 1, kMostDoublings);
      version.polls_to_wait = 1 << doublings;
    }
    version.failed = wanted.fingerprint;
    if (options_.mode == ModelControlMode::kPoll &&
        version.polls_to_wait.has_value()) {
      spdlog::info("model {} version={} is tried again polls={}", name, number,
                   *version.polls_to_wait);
    }
    if (version.state != VersionState::kReady) {
      version.state = VersionState::kUnavailable;
    }
  }
  MutexLock lock(mutex_);
  if (is_stopped_) {  // what serves is draining; nothing new begins
    return absl::UnavailableError(kStopped);
  }
  ForgetFailed(*plan, models_[name]);
  std::map<int64_t, Version>& versions = models_[name].versions;
  for (auto& [number, entry] : loaded) {
    versions[number] = {.state = VersionState::kReady,
                        .fingerprint = plan->versions.at(number).fingerprint,
                        .config_json = config_json,
                        .entry = std::move(entry)};
  }
  for (auto& [number, version] : versions) {
    // Where a new one failed, the old ones go on.
    if (failure.ok() && plan->versions.count(number) == 0 &&
        version.state == VersionState::kReady) {
      version.state = VersionState::kUnloading;
    }
  }
  Publish();
  if (failure.ok()) {
    missing_.erase(name);
  }
  return failure;
}

absl::StatusOr<std::unique_ptr<ServedModel>> ModelControl::TryAndLoad(
    const ModelPlan& plan, int64_t version, const std::string& config_json) {
  const std::string& name = plan.config.options.name;
  try {
    if (options_.probe.has_value() && NeedsFile(plan.config.options)) {
      const absl::Status tried = ProbeLoad(*options_.probe)
                                     .Try({.model = name,
                                           .version = version,
                                           .config_json = config_json,
                                           .in_fp32 = IsInFp32(plan)},
                                          [this] { return is_stopped(); });
      if (!tried.ok()) {
        return tried;
      }
    }
    return repository_.Load(plan, version, device_use_);
  } catch (const std::exception& error) {  // no memory, or no thread
    return absl::ResourceExhaustedError(
        absl::StrCat("model '", name, "' version ", version,
                     ": cannot be loaded: ", error.what()));
  }
}

absl::StatusOr<std::shared_ptr<ModelEntry>> ModelControl::LoadVersion(
    const ModelPlan& plan, int64_t version, const std::string& config_json) {
  const TimePoint begin = Clock::Steady().Now();
  absl::StatusOr<std::unique_ptr<ServedModel>> model =
      TryAndLoad(plan, version, config_json);
  if (!model.ok()) {
    spdlog::error("cannot load: {}", std::string(model.status().message()));
    return model.status();
  }
  LogReport(**model);
  if (const std::string& failure = (*model)->warm_up_failure;
      !failure.empty()) {
    if (ServesOneThatRan(plan.config.options.name)) {
      const absl::Status status = absl::InvalidArgumentError(absl::StrCat(
          "model '", plan.config.options.name, "' version ", version, ": ",
          WithNote(failure, "; what serves now ran, so it stays")));
      spdlog::error("cannot load: {}", std::string(status.message()));
      return status;
    }
    spdlog::warn("model {} version={} is ready but has never run: {}",
                 plan.config.options.name, version, failure);
  }
  if (RecordsNoGraphs((*model)->config)) {
    spdlog::info(
        "model {} version={} records no graphs on a device, as "
        "optimization.cuda does not say graphs: true",
        plan.config.options.name, version);
  }
  if (!(*model)->notes.empty()) {
    spdlog::info("model {} version={} config says what has no effect here: {}",
                 plan.config.options.name, version,
                 absl::StrJoin((*model)->notes, ", "));
  }
  if (!(*model)->completed.empty()) {
    spdlog::info(
        "model {} version={} config was completed; to keep it, write into "
        "config.pbtxt:\n{}",
        plan.config.options.name, version, (*model)->completed);
  }
  LogReady(**model, SecondsSince(begin));
  return std::make_shared<ModelEntry>(*std::move(model));
}

bool ModelControl::ServesOneThatRan(const std::string& name) const {
  MutexLock lock(mutex_);
  const auto model = models_.find(name);
  return model != models_.end() &&
         std::any_of(model->second.versions.begin(),
                     model->second.versions.end(), [](const auto& numbered) {
                       const Version& version = numbered.second;
                       return version.state == VersionState::kReady &&
                              version.entry->model().warm_up_failure.empty();
                     });
}

absl::StatusOr<std::unique_ptr<ServedModel>> ModelControl::LoadInFp32(
    const std::string& name, int64_t number, const Version& serving,
    const TypeFailures::Failure& failure) {
  absl::StatusOr<ModelPlan> plan = repository_.Plan(name, serving.config_json);
  if (!plan.ok()) {
    return plan.status();
  }
  const auto found = plan->versions.find(number);
  if (found == plan->versions.end() ||
      found->second.fingerprint != serving.fingerprint) {
    return absl::FailedPreconditionError(
        "expected the files that it was loaded from, they have changed");
  }
  FallBackTo(Precision::kFp32, plan->config);
  plan->config.options.must_run = failure.batch;
  auto model = TryAndLoad(*plan, number, serving.config_json);
  if (model.ok()) {
    (*model)->report.why_not_bf16 = failure.why;
  }
  return model;
}

void ModelControl::MendNow(const std::string& name, int64_t number,
                           uint64_t serial,
                           const TypeFailures::Failure& failure) {
  const TimePoint begin = Clock::Steady().Now();
  Version serving;
  {
    MutexLock lock(mutex_);
    const std::map<int64_t, Version>& versions = models_.at(name).versions;
    const auto found = versions.find(number);
    if (found == versions.end() ||
        found->second.state != VersionState::kReady ||
        found->second.entry->serial != serial) {
      return;  // it goes, or another has taken its place
    }
    serving = found->second;
  }
  auto model = LoadInFp32(name, number, serving, failure);
  if (!model.ok()) {
    spdlog::warn(
        "model {} version={} stays in bf16, in which a batch failed by its "
        "types: {}; in fp32: {}",
        name, number, failure.why, std::string(model.status().message()));
    return;
  }
  const auto entry =
      std::make_shared<ModelEntry>(*std::move(model), /*changes=*/1);
  {
    MutexLock lock(mutex_);
    if (is_stopped_) {  // as in LoadNow()
      return;
    }
    models_[name].versions[number].entry = entry;
    Publish();
  }
  LogReport(entry->model());
  LogReady(entry->model(), SecondsSince(begin));
  spdlog::warn(
      "model {} version={} has changed to ferry.precision {} while it served, "
      "as the rows that failed run there; write that into its config to have "
      "it from the start",
      name, number, entry->model().serving_precision);
}

void ModelControl::UnloadNow(const std::string& name) {
  MutexLock lock(mutex_);
  int count = 0;
  if (const auto found = models_.find(name); found != models_.end()) {
    for (auto& [number, version] : found->second.versions) {
      if (version.state == VersionState::kReady) {
        version.state = VersionState::kUnloading;
        version.reason.clear();
        ++count;
      }
    }
  }
  if (count > 0) {
    Publish();
    spdlog::info("model {} unloads versions={}", name, count);
  }
}

void ModelControl::Publish() {
  ServedSet served;
  for (const auto& [name, model] : models_) {
    ServedSet::Named& named = served.by_name[name];
    for (const auto& [number, version] : model.versions) {
      if (version.state == VersionState::kReady) {
        named.ready.push_back(version.entry);
      } else if (version.state != VersionState::kUnavailable) {
        named.not_ready.push_back(number);
      }
    }
  }
  table_.Publish(std::move(served));
}

void ModelControl::DestroyAbandoned() {
  for (const std::shared_ptr<ModelEntry>& entry : table_.TakeAbandoned()) {
    const std::string name = entry->model().name;
    const int64_t number = entry->model().version;
    entry->DestroyModel();
    ReturnFreedMemory();
    spdlog::info("model {} version={} is gone", name, number);
    MutexLock lock(mutex_);
    const auto model = models_.find(name);
    if (model == models_.end()) {
      continue;
    }
    const auto version = model->second.versions.find(number);
    if (version != model->second.versions.end() &&
        version->second.entry == entry) {  // nothing took its place
      version->second = {.state = VersionState::kUnavailable,
                         .reason = "unloaded"};
      Publish();
    }
  }
}

// An unknown name makes no entry: clients could fill the memory.
void ModelControl::NoteUnreadable(const std::string& name,
                                  const absl::Status& status) {
  const std::string reason(repository_.ForClients(status).message());
  const bool is_there = repository_.Has(name);
  MutexLock lock(mutex_);
  if (!is_there && models_.count(name) == 0) {
    return;
  }
  const auto [model, is_new] = models_.try_emplace(name);
  if (is_new) {
    Publish();  // a model that has no versions, not an unknown one
  }
  if (std::exchange(model->second.reason, reason) != reason) {  // said once
    spdlog::error("cannot load: {}", std::string(status.message()));
  }
}

// --- polling ----------------------------------------------------------------

// What is seen for the first time is not acted on: files may be half written,
// and a folder that is swapped is missing for a moment.
void ModelControl::PollNow() {
  const absl::StatusOr<RepositoryNames> found = repository_.List();
  if (!found.ok()) {  // nothing is gone that cannot be seen
    spdlog::error("cannot poll: {}", std::string(found.status().message()));
    return;
  }
  LogPassedOver(*found);
  const std::vector<std::string>& there = found->models;
  const std::vector<std::string>& wanted =
      options_.load_models.empty() || options_.wants_all()
          ? there
          : options_.load_models;
  std::set<std::string> names(wanted.begin(), wanted.end());
  {
    MutexLock lock(mutex_);
    for (const auto& [name, model] : models_) {
      names.insert(name);  // also what is gone
    }
  }
  for (const std::string& name : names) {
    if (is_stopped()) {
      return;
    }
    const absl::StatusOr<ModelPlan> plan = repository_.Plan(name);
    const std::string seen =
        plan.ok() ? plan->Fingerprint() : plan.status().ToString();
    if (std::exchange(polled_[name], seen) != seen) {
      continue;
    }
    if (absl::IsNotFound(plan.status()) &&
        std::find(there.begin(), there.end(), name) == there.end()) {
      UnloadNow(name);
      const std::vector<std::string>& named = options_.load_models;
      if (std::find(named.begin(), named.end(), name) == named.end()) {
        MutexLock lock(mutex_);
        missing_.erase(name);  // it is no model of the repository any more
      }
    } else if (!plan.ok()) {
      NoteUnreadable(name, plan.status());
    } else if (HasChanged(name, *plan)) {
      (void)LoadNow(name, "");  // logged, and in the index
    }
  }
}

void ModelControl::LogPassedOver(const RepositoryNames& names) {
  for (const auto& [name, why] : names.passed_over) {
    if (passed_over_.count(name) == 0) {
      spdlog::warn("model repository: '{}' is passed over: {}", Shown(name),
                   why);
    }
  }
  passed_over_ = names.passed_over;
}

void ModelControl::ForgetFailed(const ModelPlan& plan, Model& model) {
  std::erase_if(model.versions, [&](const auto& known) {
    return plan.versions.count(known.first) == 0 &&
           known.second.state == VersionState::kUnavailable &&
           !known.second.failed.empty();
  });
}

bool ModelControl::HasChanged(const std::string& name, const ModelPlan& plan) {
  MutexLock lock(mutex_);
  Model& model = models_[name];
  model.reason.clear();
  bool has_failed = false;  // then the old versions stay
  for (const auto& [number, wanted] : plan.versions) {
    const auto known = model.versions.find(number);
    if (known == model.versions.end()) {
      return true;
    }
    if (known->second.failed == wanted.fingerprint) {
      std::optional<int>& polls = known->second.polls_to_wait;
      if (polls.has_value() && (*polls == 0 || --*polls == 0)) {
        return true;
      }
      has_failed = true;
    } else if (known->second.fingerprint != wanted.fingerprint) {
      return true;
    } else {
      known->second.reason.clear();  // what failed was taken back
      known->second.failed.clear();
    }
  }
  ForgetFailed(plan, model);
  if (!has_failed) {
    missing_.erase(name);
  }
  return !has_failed &&
         std::any_of(model.versions.begin(), model.versions.end(),
                     [&](const auto& known) {
                       return known.second.state == VersionState::kReady &&
                              plan.versions.count(known.first) == 0;
                     });
}

}  // namespace ferry

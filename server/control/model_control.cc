// Implements ModelControl; what its thread does is in model_control_thread.cc.
#include "server/control/model_control.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "models/repository/repository_folder.h"

namespace ferry {
namespace {

constexpr size_t kMaxJobs = 64;

}  // namespace

absl::StatusOr<std::unique_ptr<ModelControl>> ModelControl::Create(
    ModelRepository& repository, ModelTable& table,
    const ModelControlOptions& options) {
  std::unique_ptr<ModelControl> control(
      new ModelControl(repository, table, options));
  if (absl::Status status = control->LoadInitial(); !status.ok()) {
    return status;
  }
  control->thread_.Start([raw = control.get()] { raw->Run(); });
  return control;
}

absl::StatusOr<std::vector<std::string>> ModelControl::InitialNames() {
  std::vector<std::string> names = options_.load_models;
  const absl::StatusOr<RepositoryNames> found = repository_.List();
  if (found.ok()) {
    LogPassedOver(*found);
  }
  if (options_.wants_all()) {
    if (!found.ok()) {
      return found.status();
    }
    return found->models;
  }
  if (names.empty() && options_.mode != ModelControlMode::kExplicit) {
    return repository_.DefaultNames();
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

absl::Status ModelControl::LoadInitial() {
  const absl::StatusOr<std::vector<std::string>> names = InitialNames();
  if (!names.ok()) {
    return names.status();
  }
  if (names->size() == 1 && options_.mode == ModelControlMode::kNone) {
    device_use_ = DeviceUse::kAlone;
  }
  const bool are_named = !options_.load_models.empty() && !options_.wants_all();
  std::vector<std::string> reasons;
  std::vector<std::string> unread;
  for (const std::string& name : *names) {
    absl::Status status = LoadNow(name, "");
    if (status.ok()) {
      continue;
    }
    if (are_named || reasons.empty()) {  // those found have one in common
      status = repository_.WithHint(name, status);
    }
    MutexLock lock(mutex_);
    // What cannot be read may be no model, unless it is named as one.
    if (absl::IsUnavailable(status) && !are_named &&
        models_[name].versions.empty()) {
      unread.emplace_back(status.message());
      continue;
    }
    reasons.emplace_back(status.message());
    missing_.insert(name);
  }
  if (!unread.empty() && unread.size() == names->size()) {
    reasons = std::move(unread);  // there is nothing to serve
    MutexLock lock(mutex_);
    missing_.insert(names->begin(), names->end());
  }
  if (reasons.empty() || !options_.exits_on_error) {
    return absl::OkStatus();
  }
  if (names->size() > 1) {
    reasons.insert(
        reasons.begin(),
        absl::StrCat(reasons.size(), " of ", names->size(),
                     " models cannot be loaded: ", Some(MissingModels()),
                     "; --exit-on-error=false serves the others"));
  }
  return absl::FailedPreconditionError(absl::StrJoin(reasons, "\n"));
}

std::vector<std::string> ModelControl::MissingModels() const {
  MutexLock lock(mutex_);
  return {missing_.begin(), missing_.end()};
}

void ModelControl::MendPrecisions() {
  for (const ModelUse& use : table_.UseAll()) {
    const ServedModel& model = use->model();
    if (model.type_failures == nullptr) {
      continue;
    }
    if (auto failure = model.type_failures->Take()) {
      Enqueue(
          [this, name = model.name, number = model.version,
           serial = use->serial, failure = *std::move(failure)] {
            MendNow(name, number, serial, failure);
          },
          [](const absl::Status&) {});  // as long as it fails it comes again
    }
  }
}

ModelControl::~ModelControl() {
  BeginDrain();
  JoinBy(kNever);
  // Joins the threads of the backends: after this nothing there points to a
  // call.
  table_.Publish({});
  for (const std::shared_ptr<ModelEntry>& entry : table_.TakeLeaving()) {
    entry->DestroyModel();
  }
}

absl::Status ModelControl::CheckMode() const {
  return options_.mode == ModelControlMode::kExplicit
             ? absl::OkStatus()
             : absl::UnavailableError(
                   "explicit model load / unload is not allowed: expected "
                   "--model-control-mode=explicit");
}

void ModelControl::Load(const std::string& name, const std::string& config_json,
                        Done done) {
  if (absl::Status status = CheckMode(); !status.ok()) {
    done(status);
    return;
  }
  if (config_json.size() > kMaxConfigBytes) {  // not kept while it waits
    done(ParseModelConfigJson(config_json, name).status());
    return;
  }
  Enqueue(
      [this, name, config_json, done] {
        done(repository_.ForClients(
            repository_.WithHint(name, LoadNow(name, config_json))));
      },
      done);
}

void ModelControl::Unload(const std::string& name, Done done) {
  if (absl::Status status = CheckMode(); !status.ok()) {
    done(status);
    return;
  }
  Enqueue(
      [this, name, done] {
        UnloadNow(name);
        {
          MutexLock lock(mutex_);
          missing_.erase(name);
        }
        done(absl::OkStatus());
      },
      done);
}

void ModelControl::Enqueue(std::function<void()> job, const Done& done) {
  absl::Status status = absl::UnavailableError(kStopped);
  {
    MutexLock lock(mutex_);
    if (!is_stopped_ && jobs_.size() < kMaxJobs) {
      jobs_.emplace_back(std::move(job), done);
      changed_.SignalOne();
      return;
    }
    if (!is_stopped_) {
      status = absl::ResourceExhaustedError(
          absl::StrCat("expected at most ", kMaxJobs,
                       " loads and unloads that wait, got one more"));
    }
  }
  done(status);
}

ModelControl::Use ModelControl::use() const {
  MutexLock lock(mutex_);
  return {.running = begun_.has_value() ? std::optional<Duration>(
                                              Clock::Steady().Now() - *begun_)
                                        : std::nullopt,
          .waiting = jobs_.size()};
}

void ModelControl::AddVersions(const std::string& name, const Model& model,
                               RepositoryIndex::Entries& index) {
  if (model.versions.empty()) {
    index.push_back({.name = name, .reason = model.reason});
  }
  for (const auto& [number, version] : model.versions) {
    index.push_back(
        {.name = name,
         .version = absl::StrCat(number),
         .state = version.state,
         .reason = version.reason.empty() ? model.reason : version.reason});
  }
}

RepositoryIndex::Entries ModelControl::Versions() const {
  RepositoryIndex::Entries versions;
  MutexLock lock(mutex_);
  for (const auto& [name, model] : models_) {
    AddVersions(name, model, versions);
  }
  return versions;
}

RepositoryIndex::Entries ModelControl::ReadIndex() const {
  RepositoryIndex::Entries index;
  // A folder that cannot be read just now hides no model that is known.
  const absl::StatusOr<RepositoryNames> names = repository_.List();
  MutexLock lock(mutex_);
  std::map<std::string, const Model*> by_name;
  for (const std::string& name :
       names.ok() ? names->models : std::vector<std::string>()) {
    by_name[name] = nullptr;
  }
  for (const auto& [name, model] : models_) {
    by_name[name] = &model;
  }
  const Model none;
  for (const auto& [name, model] : by_name) {
    AddVersions(name, model == nullptr ? none : *model, index);
  }
  if (names.ok()) {
    for (const auto& [name, why] : names->passed_over) {
      if (by_name.count(name) == 0) {
        index.push_back({.name = name, .reason = why});
      }
    }
  }
  return index;
}

void ModelControl::BeginDrain() {
  std::deque<std::pair<std::function<void()>, Done>> given_up;
  {
    MutexLock lock(mutex_);
    is_stopped_ = true;
    given_up.swap(jobs_);
  }
  changed_.SignalOne();
  index_.Stop();
  for (auto& [job, done] : given_up) {
    done(absl::UnavailableError(kStopped));
  }
  for (const ModelUse& use : table_.UseAll()) {
    use->model().scheduler->BeginDrain();
  }
}

absl::Status ModelControl::Drain(TimePoint until) {
  absl::Status status;
  // Each user of a model that goes is a call that is under way.
  for (const ModelUse& use : table_.UseEach()) {
    status.Update(use->model().scheduler->Drain(until));
  }
  return status;
}

bool ModelControl::JoinBy(TimePoint until) {
  return index_.JoinBy(until) && thread_.JoinBy(until);
}

}  // namespace ferry

// ModelControl controls the life of models: it loads, replaces and unloads them
// while others serve.
//
// One thread does what is asked, one thing after the other. A version is
// loaded and warmed up beside what serves, then takes over in one step
// (ModelTable::Publish); the old one is destroyed when the last of its calls
// has ended. Where a load fails, what served goes on to serve, and the reason
// stands in the index, in the log and in the answer.
//
// State of a version, in the protocol's words: LOADING, READY, UNLOADING,
// UNAVAILABLE with its reason.
//
// Thread safety: thread-safe, except Create() and the destructor. Callbacks
// come on ModelControl's thread, or on the caller's where it refuses.
#ifndef FERRY_SERVER_CONTROL_MODEL_CONTROL_H_
#define FERRY_SERVER_CONTROL_MODEL_CONTROL_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/joinable_thread.h"
#include "base/mutex.h"
#include "models/repository/model_repository.h"
#include "server/control/model_control_options.h"
#include "server/control/model_table.h"
#include "server/control/probe_load.h"
#include "server/control/repository_index.h"

namespace ferry {

class ModelControl {
 public:
  using Done = std::function<void(const absl::Status&)>;

  // Loads what is to be served at start, one after the other. Errors: those of
  // the models that cannot be loaded, unless the options leave them out.
  // Repository and table outlive it.
  static absl::StatusOr<std::unique_ptr<ModelControl>> Create(
      ModelRepository& repository, ModelTable& table,
      const ModelControlOptions& options);

  // Destroys all models. REQUIRES: no call comes any more.
  ~ModelControl();

  // Loads a model or what has changed of it; `done` when it serves or has
  // failed. `config_json` replaces its config.pbtxt where not empty.
  // UNAVAILABLE unless the mode is kExplicit; RESOURCE_EXHAUSTED where 64 wait.
  void Load(const std::string& name, const std::string& config_json, Done done);

  // Takes a model out; `done` when no new request finds it. What was admitted
  // is answered, then its memory is freed. Nothing happens where it is not
  // loaded: a client that cleans up may ask twice. UNAVAILABLE unless the mode
  // is kExplicit.
  void Unload(const std::string& name, Done done);

  struct Use {
    std::optional<Duration> running;  // the job or poll under way; none is
    size_t waiting = 0;               // jobs
  };
  Use use() const ABSL_LOCKS_EXCLUDED(mutex_);

  // The models of the start that have neither been loaded nor unloaded since.
  std::vector<std::string> MissingModels() const;

  // Has versions of which batches fail in bf16, as types in them do not agree,
  // loaded in fp32 and run there; what runs takes their place. To be called
  // from time to time.
  void MendPrecisions();

  // Returns all versions that are known, by name, without a look at the
  // repository.
  RepositoryIndex::Entries Versions() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Gives all versions that are known and all models of the repository, by
  // name, as RepositoryIndex does.
  void Index(const RepositoryIndex::Done& done) { index_.Ask(done); }

  // Begins nothing new and tells every scheduler to take no more requests.
  void BeginDrain();

  // Waits until every scheduler has answered what it admitted, at most until
  // `until`. DEADLINE_EXCEEDED where one has not. REQUIRES: BeginDrain().
  absl::Status Drain(TimePoint until);

  // Waits for a load, or an index that is read, at most until `until`: where it
  // returns true no callback comes any more. REQUIRES: BeginDrain().
  bool JoinBy(TimePoint until);

 private:
  static constexpr char kStopped[] =
      "server is draining and loads no more models";

  struct Version {
    VersionState state = VersionState::kLoading;
    std::string reason = {};
    std::string fingerprint = {};  // of what serves
    std::string failed = {};       // of what could not be loaded
    int failures = 0;              // of that, one after the other
    // Before it is tried again; 0: it is due; none: it is not tried again.
    std::optional<int> polls_to_wait = {};
    std::string config_json = {};  // what a client sent for what serves
    std::shared_ptr<ModelEntry> entry = {};  // READY and UNLOADING
  };
  struct Model {
    std::map<int64_t, Version> versions;
    std::string reason;  // why its folder could not be read; empty: it could
  };

  ModelControl(ModelRepository& repository, ModelTable& table,
               const ModelControlOptions& options)
      : repository_(repository), table_(table), options_(options) {}

  absl::Status LoadInitial();
  RepositoryIndex::Entries ReadIndex() const ABSL_LOCKS_EXCLUDED(mutex_);
  static void AddVersions(const std::string& name, const Model& model,
                          RepositoryIndex::Entries& index);
  absl::StatusOr<std::vector<std::string>> InitialNames();
  void Enqueue(std::function<void()> job, const Done& done);
  absl::Status CheckMode() const;

  // --- the thread, or Create() ---
  void Run();
  absl::Status LoadNow(const std::string& name, const std::string& config_json);
  absl::StatusOr<std::shared_ptr<ModelEntry>> LoadVersion(
      const ModelPlan& plan, int64_t version, const std::string& config_json);
  absl::StatusOr<std::unique_ptr<ServedModel>> TryAndLoad(
      const ModelPlan& plan, int64_t version, const std::string& config_json);
  // Whether a version of the model is ready that ran before it was.
  bool ServesOneThatRan(const std::string& name) const;
  // `serial`: of the entry in which it failed.
  void MendNow(const std::string& name, int64_t number, uint64_t serial,
               const TypeFailures::Failure& failure);
  absl::StatusOr<std::unique_ptr<ServedModel>> LoadInFp32(
      const std::string& name, int64_t number, const Version& serving,
      const TypeFailures::Failure& failure);
  void UnloadNow(const std::string& name);
  void PollNow();
  bool HasChanged(const std::string& name, const ModelPlan& plan);
  // Takes out of the index what failed and is no longer to be loaded.
  static void ForgetFailed(const ModelPlan& plan, Model& model);
  // Says once what is no model.
  void LogPassedOver(const RepositoryNames& names);
  void NoteUnreadable(const std::string& name, const absl::Status& status);
  bool is_stopped() const ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(mutex_);
    return is_stopped_;
  }
  void DestroyAbandoned();
  void Publish() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  ModelRepository& repository_;
  ModelTable& table_;
  const ModelControlOptions options_;
  DeviceUse device_use_ = DeviceUse::kShared;

  mutable Mutex mutex_;
  CondVar changed_;
  std::map<std::string, Model> models_ ABSL_GUARDED_BY(mutex_);
  std::deque<std::pair<std::function<void()>, Done>> jobs_
      ABSL_GUARDED_BY(mutex_);
  std::set<std::string> missing_ ABSL_GUARDED_BY(mutex_);  // of the start
  bool is_stopped_ ABSL_GUARDED_BY(mutex_) = false;
  TimePoint poll_at_ ABSL_GUARDED_BY(mutex_) = kNever;
  std::optional<TimePoint> begun_ ABSL_GUARDED_BY(mutex_);  // what runs

  // What the last poll saw of each name: its plan's fingerprints; "": no such
  // folder. The thread only.
  std::map<std::string, std::string> polled_;
  // What was said to be none; the thread only.
  std::map<std::string, std::string> passed_over_;

  RepositoryIndex index_{[this] { return ReadIndex(); }};
  JoinableThread thread_;
};

}  // namespace ferry

#endif  // FERRY_SERVER_CONTROL_MODEL_CONTROL_H_

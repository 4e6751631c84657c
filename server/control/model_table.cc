// Implements ModelTable: looks up by name, then through the few versions.
#include "server/control/model_table.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "server/client_text.h"

namespace ferry {
namespace {

constexpr size_t kMaxPast = 256;

absl::Status NotFound(const std::string& name, absl::string_view what) {
  return absl::NotFoundError(
      absl::StrCat("Request for unknown model: '", Shown(name), "' ", what));
}

absl::StatusOr<ModelEntry*> FindLatest(const std::string& name,
                                       const ServedSet::Named& versions) {
  if (versions.ready.empty()) {
    return NotFound(name, "has no available versions");
  }
  return versions.ready.front().get();
}

absl::StatusOr<ModelEntry*> FindVersion(const std::string& name,
                                        const ServedSet::Named& versions,
                                        const std::string& version) {
  for (const std::shared_ptr<ModelEntry>& entry : versions.ready) {
    if (entry->version == version) {
      return entry.get();
    }
  }
  int64_t number = 0;
  if (!absl::SimpleAtoi(version, &number) || number < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("model version: expected a number of at least 0, got '",
                     Shown(version), "' for model '", name, "'"));
  }
  if (const std::string plain = absl::StrCat(number); plain != version) {
    return FindVersion(name, versions, plain);  // "01"
  }
  if (std::find(versions.not_ready.begin(), versions.not_ready.end(), number) !=
      versions.not_ready.end()) {
    return absl::UnavailableError(absl::StrCat("Request for unknown model: '",
                                               name, "' version ", number,
                                               " is not at ready state"));
  }
  return NotFound(name, absl::StrCat("version ", number, " is not found"));
}

absl::StatusOr<ModelEntry*> FindIn(const ServedSet& served,
                                   const std::string& name,
                                   const std::string& version) {
  const auto found = served.by_name.find(name);
  if (found == served.by_name.end()) {
    return NotFound(name, "is not found");
  }
  return version.empty() ? FindLatest(name, found->second)
                         : FindVersion(name, found->second, version);
}

}  // namespace

ModelCounts ModelEntry::Count() const {
  ModelCounts counts;
  counts.invalid_requests = invalid_requests.load(std::memory_order_relaxed);
  counts.client_refusals = client_refusals.load(std::memory_order_relaxed);
  counts.memory_refusals = memory_refusals.load(std::memory_order_relaxed);
  counts.overdue_batches = overdue_batches.load(std::memory_order_relaxed);
  counts.arrived_rows = arrived_rows.load(std::memory_order_relaxed);
  counts.received_bytes = received_bytes.load(std::memory_order_relaxed);
  counts.sent_bytes = sent_bytes.load(std::memory_order_relaxed);
  counts.precision_changes = precision_changes;
  if (const Scheduler* const scheduler = model_->scheduler.get()) {
    counts.counted = scheduler->Snapshot();
    counts.device_events = scheduler->device_counts();
  }
  return counts;
}

std::vector<std::shared_ptr<ModelEntry>> ServedSet::All() const {
  std::vector<std::shared_ptr<ModelEntry>> all;
  for (const auto& [name, versions] : by_name) {
    all.insert(all.end(), versions.ready.begin(), versions.ready.end());
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return std::tie(a->model().name, a->model().version) <
           std::tie(b->model().name, b->model().version);
  });
  return all;
}

void ModelTable::Publish(ServedSet served) {
  for (auto& [name, versions] : served.by_name) {
    std::sort(versions.ready.begin(), versions.ready.end(),
              [](const auto& a, const auto& b) {
                return a->model().version > b->model().version;
              });
  }
  const std::vector<std::shared_ptr<ModelEntry>> stay = served.All();
  std::vector<std::shared_ptr<ModelEntry>> gone;
  MutexLock lock(mutex_);
  for (std::shared_ptr<ModelEntry>& entry : current_->All()) {
    if (std::find(stay.begin(), stay.end(), entry) == stay.end()) {
      gone.push_back(std::move(entry));
    }
  }
  current_ = std::make_shared<const ServedSet>(std::move(served));
  // First, so that a thread that finds an entry closed finds the new set.
  generation_.fetch_add(1, std::memory_order_release);
  for (std::shared_ptr<ModelEntry>& entry : gone) {
    entry->Close();
    leaving_.push_back(std::move(entry));
  }
  if (listener_) {
    listener_(*current_);
  }
}

void ModelTable::Listen(std::function<void(const ServedSet&)> listener) {
  MutexLock lock(mutex_);
  listener_ = std::move(listener);
  if (listener_) {
    listener_(*current_);
  }
}

std::vector<std::shared_ptr<ModelEntry>> ModelTable::TakeAbandoned() {
  std::vector<std::shared_ptr<ModelEntry>> abandoned;
  MutexLock lock(mutex_);
  const auto first =
      std::partition(leaving_.begin(), leaving_.end(),
                     [](const auto& entry) { return !entry->is_abandoned(); });
  std::move(first, leaving_.end(), std::back_inserter(abandoned));
  leaving_.erase(first, leaving_.end());
  for (const std::shared_ptr<ModelEntry>& entry : abandoned) {
    KeepCounts(*entry);
  }
  return abandoned;
}

void ModelTable::KeepCounts(const ModelEntry& entry) {
  const ServedModel& model = entry.model();
  Past past = {model.name, model.version, entry.Count()};
  const auto known =
      std::find_if(past_.begin(), past_.end(), [&](const Past& each) {
        return each.name == past.name && each.version == past.version;
      });
  if (known != past_.end()) {
    ferry::Add(known->counts, past.counts);
    past_.erase(known);
  } else if (past_.size() >= kMaxPast) {
    // The first that counts on in no version that is served.
    const std::vector<std::shared_ptr<ModelEntry>> served = current_->All();
    const auto gone =
        std::find_if(past_.begin(), past_.end(), [&](const Past& each) {
          return std::none_of(served.begin(), served.end(),
                              [&](const auto& one) {
                                return one->model().name == each.name &&
                                       one->model().version == each.version;
                              });
        });
    past_.erase(gone == past_.end() ? past_.begin() : gone);
  }
  past_.push_back(std::move(past));
}

std::vector<CountedVersion> ModelTable::Count() const {
  std::map<std::pair<std::string, int64_t>, CountedVersion> counted;
  std::vector<ModelUse> served;
  std::vector<ModelUse> leaving;
  {
    MutexLock lock(mutex_);  // nothing is published or taken
    for (const Past& past : past_) {
      counted[{past.name, past.version}].counts = past.counts;
    }
    for (const std::shared_ptr<ModelEntry>& entry : current_->All()) {
      entry->UseAgain();
      served.emplace_back(*entry);
    }
    for (const std::shared_ptr<ModelEntry>& entry : leaving_) {
      entry->UseAgain();
      leaving.emplace_back(*entry);
    }
  }
  for (std::vector<ModelUse>* const uses : {&leaving, &served}) {
    for (ModelUse& use : *uses) {
      const ServedModel& model = use->model();
      CountedVersion& version = counted[{model.name, model.version}];
      ModelCounts counts = use->Count();
      ferry::Add(version.counts, counts);
      version.counts = std::move(counts);
      if (uses == &served) {
        version.use = std::move(use);
      }
    }
  }
  std::vector<CountedVersion> all;
  for (auto& [key, version] : counted) {
    version.name = key.first;
    version.version = absl::StrCat(key.second);
    all.push_back(std::move(version));
  }
  return all;
}

std::vector<std::shared_ptr<ModelEntry>> ModelTable::TakeLeaving() {
  MutexLock lock(mutex_);
  return std::exchange(leaving_, {});
}

size_t ModelTable::leaving_count() const {
  MutexLock lock(mutex_);
  return leaving_.size();
}

std::shared_ptr<const ServedSet> ModelTable::current() const {
  MutexLock lock(mutex_);
  return current_;
}

absl::StatusOr<ModelUse> ModelTable::Find(const std::string& name,
                                          const std::string& version) const {
  for (;;) {
    const std::shared_ptr<const ServedSet> served = current();
    const absl::StatusOr<ModelEntry*> entry = FindIn(*served, name, version);
    if (!entry.ok()) {
      return entry.status();
    }
    if ((*entry)->TryUse()) {
      return ModelUse(**entry);
    }  // it went just now
  }
}

std::vector<ModelUse> ModelTable::UseAll() const {
  std::vector<ModelUse> uses;
  MutexLock lock(mutex_);  // nothing is published, so nothing closes
  for (const std::shared_ptr<ModelEntry>& entry : current_->All()) {
    if (entry->TryUse()) {
      uses.emplace_back(*entry);
    }
  }
  return uses;
}

std::vector<ModelUse> ModelTable::UseLeaving() const {
  std::vector<ModelUse> uses;
  MutexLock lock(mutex_);  // TakeAbandoned() waits
  for (const std::shared_ptr<ModelEntry>& entry : leaving_) {
    entry->UseAgain();
    uses.emplace_back(*entry);
  }
  return uses;
}

std::vector<ModelUse> ModelTable::UseEach() const {
  std::vector<ModelUse> uses = UseAll();
  for (ModelUse& leaving : UseLeaving()) {
    uses.push_back(std::move(leaving));
  }
  return uses;
}

absl::StatusOr<ModelUse> ModelTableView::Find(const std::string& name,
                                              const std::string& version) {
  for (;;) {
    const uint64_t now = table_.generation();
    if (now != seen_) [[unlikely]] {
      seen_ = now;
      served_ = table_.current();
    }
    const absl::StatusOr<ModelEntry*> entry = FindIn(*served_, name, version);
    if (!entry.ok()) {
      return entry.status();
    }
    if ((*entry)->TryUse()) {
      return ModelUse(**entry);
    }  // it went just now
  }
}

}  // namespace ferry

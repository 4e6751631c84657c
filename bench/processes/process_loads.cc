// Implements ProcessLoads: sends orders out, gathers results.
#include "bench/processes/process_loads.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/load/load_merge.h"

namespace ferry::bench {
namespace {

// From an order to its begin: each worker makes its calls first.
constexpr Duration kLeadTime = std::chrono::milliseconds(200);
// How long a worker may take beyond its window and the wait for answers.
constexpr Duration kAnswerLimit = std::chrono::seconds(60);

// Returns how much of `whole` is that worker's: all of it, divided evenly.
int32_t ShareOf(int32_t whole, size_t worker, size_t count) {
  const auto n = static_cast<int32_t>(count);
  return whole / n + (static_cast<int32_t>(worker) < whole % n ? 1 : 0);
}

}  // namespace

absl::StatusOr<std::unique_ptr<ProcessLoads>> ProcessLoads::Start(
    const std::vector<std::vector<std::string>>& arguments, Duration limit) {
  std::unique_ptr<ProcessLoads> loads(new ProcessLoads());
  for (const std::vector<std::string>& of_worker : arguments) {
    auto started = ChildProcess::Start(of_worker);
    if (!started.ok()) {
      return started.status();
    }
    loads->workers_.push_back(*std::move(started));
  }
  std::vector<size_t> all(arguments.size());
  std::iota(all.begin(), all.end(), size_t{0});
  if (const Loaded ready =
          loads->Gather(std::move(all), Clock::Steady().Now() + limit);
      !ready.ok()) {
    return ready.status();
  }
  return loads;
}

LoadSource::Loaded ProcessLoads::RunClosed(int32_t outstanding,
                                           const LoadPlan& plan) {
  std::vector<std::optional<LoadOrder>> orders(workers_.size());
  for (size_t i = 0; i < orders.size(); ++i) {
    const int32_t share = ShareOf(outstanding, i, workers_.size());
    if (share > 0) {
      orders[i] = {
          .what = LoadOrder::What::kClosed, .outstanding = share, .plan = plan};
    }
  }
  return Run(orders);
}

LoadSource::Loaded ProcessLoads::RunOffline(uint64_t, int32_t,
                                            const LoadPlan&) {
  return absl::UnimplementedError("a query is sent by one process");
}

LoadSource::Loaded ProcessLoads::RunOpen(double rate, uint64_t seed,
                                         const LoadPlan& plan) {
  std::vector<std::optional<LoadOrder>> orders(workers_.size());
  for (size_t i = 0; i < orders.size(); ++i) {
    LoadOrder order = {.what = LoadOrder::What::kOpen,
                       .rate = rate,
                       .seed = seed,
                       .plan = plan};
    order.plan.max_outstanding =
        std::max(ShareOf(plan.max_outstanding, i, workers_.size()), 1);
    orders[i] = std::move(order);
  }
  return Run(orders);
}

void ProcessLoads::Stop() {
  for (const auto& worker : workers_) {
    // The wait for its result finds a worker that is gone.
    worker->channel().Send(Encode(LoadOrder())).IgnoreError();
  }
}

std::optional<LoadProgress> ProcessLoads::progress() const {
  MutexLock lock(mutex_);
  if (!plan_.has_value()) {
    return std::nullopt;
  }
  const TimePoint now = Clock::Steady().Now();
  LoadProgress progress;
  progress.left = std::max(plan_->window_end() - now, Duration::zero());
  progress.measured = std::max(now - plan_->window_begin(), Duration::zero());
  return progress;
}

Duration ProcessLoads::lead_time() const { return kLeadTime; }

LoadSource::Loaded ProcessLoads::Run(
    const std::vector<std::optional<LoadOrder>>& orders) {
  std::vector<size_t> pending;
  TimePoint until;
  for (size_t i = 0; i < orders.size(); ++i) {
    if (!orders[i].has_value()) {
      continue;
    }
    LoadOrder order = *orders[i];
    order.plan.keeps_start = true;
    until = order.plan.window_end() + order.plan.drain_limit + kAnswerLimit;
    if (const absl::Status sent = workers_[i]->channel().Send(Encode(order));
        !sent.ok()) {
      return Fail(i, sent.code(), "");
    }
    pending.push_back(i);
    MutexLock lock(mutex_);
    plan_ = order.plan;
  }
  Loaded load = Gather(std::move(pending), until);
  MutexLock lock(mutex_);
  plan_.reset();
  return load;
}

// Returns null where their replies have no loads.
LoadSource::Loaded ProcessLoads::Gather(std::vector<size_t> pending,
                                        TimePoint until) {
  std::unique_ptr<LoadResult> joined;
  while (!pending.empty()) {
    std::vector<pollfd> sockets;
    for (const size_t worker : pending) {
      sockets.push_back({workers_[worker]->channel().socket(), POLLIN, 0});
    }
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        until - Clock::Steady().Now());
    const int ready = poll(sockets.data(), sockets.size(),
                           static_cast<int>(std::clamp<int64_t>(
                               left.count(), 0, int64_t{1} << 30)));
    if (ready < 0 && errno == EINTR) {
      continue;
    }
    if (ready <= 0) {
      return Fail(pending.front(), absl::StatusCode::kDeadlineExceeded,
                  "does not answer");
    }
    const auto readable =
        std::find_if(sockets.begin(), sockets.end(),
                     [](const pollfd& socket) { return socket.revents != 0; });
    const auto place = pending.begin() + (readable - sockets.begin());
    auto reply = ReceiveFrom(*place);
    if (!reply.ok()) {
      return reply.status();
    }
    pending.erase(place);
    if (joined == nullptr) {
      joined = std::move(reply->load);
    } else {
      Merge(*reply->load, *joined);
    }
  }
  return joined;
}

absl::StatusOr<LoadReply> ProcessLoads::ReceiveFrom(size_t worker) {
  const auto message = workers_[worker]->channel().Receive();
  if (!message.ok()) {
    return Fail(worker, message.status().code(), "");
  }
  auto reply = DecodeReply(*message);
  if (!reply.ok()) {
    return Fail(worker, reply.status().code(),
                std::string(reply.status().message()));
  }
  if (!reply->error.empty()) {
    return Fail(worker, absl::StatusCode::kUnavailable, reply->error);
  }
  return reply;
}

absl::Status ProcessLoads::Fail(size_t worker, absl::StatusCode code,
                                const std::string& what) {
  const std::string ending = workers_[worker]->End();
  for (const auto& other : workers_) {
    other->End();
  }
  return absl::Status(
      code, absl::StrCat(Name(worker), ": ", what.empty() ? ending : what));
}

std::string ProcessLoads::Name(size_t worker) const {
  return absl::StrCat("process ", worker + 1, " of ", workers_.size(),
                      " of the client (pid ", workers_[worker]->pid(), ")");
}

}  // namespace ferry::bench

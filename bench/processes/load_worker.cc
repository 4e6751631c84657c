// Implements ServeLoads(): one thread receives, the main thread sends loads.
#include "bench/processes/load_worker.h"

#include <sys/socket.h>
#include <unistd.h>

#include <deque>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "bench/arrivals/sharded_arrivals.h"
#include "bench/load/load_generator.h"
#include "bench/processes/child_process.h"
#include "bench/processes/load_message.h"

namespace ferry::bench {
namespace {

constexpr int kExitAbandoned = 1;

class LoadWorker {
 public:
  LoadWorker(MessageChannel& channel, Target& target,
             const ArrivalShape& arrivals, Share share)
      : channel_(channel),
        arrivals_(arrivals),
        share_(share),
        dealt_(target, share),
        generator_(dealt_, pacer_),
        receiver_([this] { Receive(); }) {}

  ~LoadWorker() { receiver_.join(); }

  absl::Status Serve() {
    while (const std::optional<LoadOrder> order = Next()) {
      LoadReply reply;
      reply.load = RunLoad(*order);
      if (absl::Status status = channel_.Send(Encode(reply)); !status.ok()) {
        return status;
      }
    }
    return absl::OkStatus();
  }

 private:
  // Returns nothing once the other side has ended.
  std::optional<LoadOrder> Next() {
    MutexLock lock(mutex_);
    is_busy_ = false;
    while (orders_.empty() && !is_over_) {
      changed_.Wait(mutex_);
    }
    if (orders_.empty()) {
      return std::nullopt;
    }
    is_busy_ = true;
    LoadOrder order = std::move(orders_.front());
    orders_.pop_front();
    return order;
  }

  std::unique_ptr<LoadResult> RunLoad(const LoadOrder& order) {
    if (order.what == LoadOrder::What::kClosed) {
      return generator_.RunClosed(order.outstanding, order.plan);
    }
    ShardedArrivals arrivals(arrivals_.make(order.rate, order.seed),
                             static_cast<int32_t>(share_.index),
                             static_cast<int32_t>(share_.count));
    return generator_.RunOpen(arrivals, order.plan);
  }

  // The receiver's thread.
  void Receive() {
    while (true) {
      const auto message = channel_.Receive();
      auto order = message.ok() ? DecodeOrder(*message) : message.status();
      if (order.ok() && order->what == LoadOrder::What::kStop) {
        generator_.Stop();
        continue;
      }
      MutexLock lock(mutex_);
      if (!order.ok() && is_busy_) {
        _exit(kExitAbandoned);  // no process awaits its load
      }
      changed_.SignalAll();
      if (!order.ok()) {
        orders_.clear();
        is_over_ = true;
        return;
      }
      orders_.push_back(*std::move(order));
    }
  }

  MessageChannel& channel_;
  const ArrivalShape arrivals_;
  const Share share_;
  SteadyPacer pacer_;
  ShardedTarget dealt_;
  LoadGenerator generator_;
  Mutex mutex_;
  CondVar changed_;
  std::deque<LoadOrder> orders_ ABSL_GUARDED_BY(mutex_);
  bool is_busy_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_over_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread receiver_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<MessageChannel>> ChannelToParent() {
  int kind = 0;
  socklen_t size = sizeof kind;
  if (getsockopt(ChildProcess::kChildSocket, SOL_SOCKET, SO_TYPE, &kind,
                 &size) != 0 ||
      kind != SOCK_STREAM) {
    return absl::FailedPreconditionError(
        "--as-process is for the processes that --processes starts: expected a "
        "socket to one that listens, found none");
  }
  return std::make_unique<MessageChannel>(ChildProcess::kChildSocket);
}

absl::Status ServeLoads(MessageChannel& channel, Target& target,
                        const ArrivalShape& arrivals, Share share) {
  if (absl::Status status = channel.Send(Encode(LoadReply())); !status.ok()) {
    return status;
  }
  return LoadWorker(channel, target, arrivals, share).Serve();
}

absl::Status RefuseLoads(MessageChannel& channel, const absl::Status& why) {
  LoadReply reply;
  reply.error = std::string(why.message());
  return channel.Send(Encode(reply));
}

}  // namespace ferry::bench

// Implements HealthService: answers checks and keeps watches.
#include "server/grpc/health_service.h"

#include <grpcpp/support/async_stream.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "server/grpc/status.h"

namespace ferry {
namespace {

// Models' names have no more.
constexpr size_t kMaxNameBytes = 64;
// Thousands of watches may be open, by clients without a name.
constexpr size_t kMaxMetadataBytes = size_t{8} << 10;

grpc::Status CheckWatch(const grpc::ServerContext& call,
                        const std::string& name) {
  return name.size() <= kMaxNameBytes
             ? CheckMetadata(call, kMaxMetadataBytes)
             : grpc::Status(
                   grpc::StatusCode::INVALID_ARGUMENT,
                   absl::StrCat("service: expected a name of at most ",
                                kMaxNameBytes, " bytes, got ", name.size()));
}

}  // namespace

// One watch. gRPC gives back one tag for each operation, of which there is one
// at a time, and one when the call is over; the watch is deleted when it is
// over and no operation is under way.
//
// Thread safety: all under the service's mutex.
class HealthService::Watch final {
 public:
  Watch(HealthService& service, grpc::ServerCompletionQueue& queue)
      : service_(service), queue_(queue) {
    context_.AsyncNotifyWhenDone(static_cast<QueueTag*>(&over_));
    service_.RequestAsyncServerStreaming(IndexOfWatch(), &context_, &message_,
                                         &writer_, &queue_, &queue_,
                                         static_cast<QueueTag*>(&operation_));
  }

  // Sends what is news to the client, if anything and if it may.
  void Advance() ABSL_EXCLUSIVE_LOCKS_REQUIRED(service_.mutex_) {
    if (is_busy_ || is_over_ || is_broken_ || is_finished_) {
      return;
    }
    const Response::ServingStatus status = service_.StatusOf(watched_);
    if (!was_told_ || status != told_.status()) {
      was_told_ = true;
      told_.set_status(status);
      is_busy_ = true;
      writer_.Write(told_, static_cast<QueueTag*>(&operation_));
    } else if (service_.watches_end_) {
      Finish(grpc::Status(grpc::StatusCode::UNAVAILABLE, "server shuts down"));
    }
  }

 private:
  // One kind of event of the watch.
  class Tag final : public QueueTag {
   public:
    Tag(Watch& watch, void (Watch::*event)(bool ok))
        : watch_(watch), event_(event) {}
    void Ended(bool ok) override { (watch_.*event_)(ok); }

   private:
    Watch& watch_;
    void (Watch::*const event_)(bool ok);
  };

  ~Watch() = default;

  void Finish(const grpc::Status& status)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(service_.mutex_) {
    is_finished_ = true;
    is_busy_ = true;
    AddRetryPushback(RetryPushbackMs(status), context_);
    writer_.Finish(status, static_cast<QueueTag*>(&operation_));
  }

  void OperationEnded(bool ok) {
    if (!is_matched_) {
      Matched(ok);
      return;
    }
    bool must_delete = false;
    {
      MutexLock lock(service_.mutex_);
      is_busy_ = false;
      is_broken_ = is_broken_ || !ok;
      Advance();
      must_delete = is_over_ && !is_busy_;
    }
    if (must_delete) {
      delete this;
    }
  }

  void Matched(bool ok) {
    if (!ok) {  // the server is shut down; no other tag comes
      delete this;
      return;
    }
    is_matched_ = true;
    new Watch(service_, queue_);
    Request request;
    grpc::Status status =
        ParseMessage(message_, kMaxSmallMessageBytes, request);
    if (status.ok()) {
      status = CheckWatch(context_, request.service());
    }
    MutexLock lock(service_.mutex_);
    if (!status.ok()) {
      Finish(status);
      return;
    }
    watched_ = request.service();
    service_.TellWatches();
    service_.watches_.insert(this);
    Advance();
  }

  static int IndexOfWatch() {
    return Request::descriptor()
        ->file()
        ->service(0)
        ->FindMethodByName("Watch")
        ->index();
  }

  void CallIsOver(bool) {
    bool must_delete = false;
    {
      MutexLock lock(service_.mutex_);
      is_over_ = true;
      service_.watches_.erase(this);
      must_delete = !is_busy_;
    }
    if (must_delete) {
      delete this;
    }
  }

  HealthService& service_;
  grpc::ServerCompletionQueue& queue_;
  Tag operation_{*this, &Watch::OperationEnded};
  Tag over_{*this, &Watch::CallIsOver};
  grpc::ServerContext context_;
  grpc::ByteBuffer message_;
  std::string watched_;  // the name of the service
  grpc::ServerAsyncWriter<Response> writer_{&context_};
  bool is_matched_ = false;  // the queue's thread only
  Response told_ ABSL_GUARDED_BY(service_.mutex_);
  bool was_told_ ABSL_GUARDED_BY(service_.mutex_) = false;
  bool is_busy_ ABSL_GUARDED_BY(service_.mutex_) = false;
  bool is_broken_ ABSL_GUARDED_BY(service_.mutex_) = false;
  bool is_finished_ ABSL_GUARDED_BY(service_.mutex_) = false;
  bool is_over_ ABSL_GUARDED_BY(service_.mutex_) = false;
};

HealthService::HealthService(std::string service_name,
                             const Readiness& readiness, UnsentReplies& unsent)
    : UnaryService(unsent),
      service_name_(std::move(service_name)),
      readiness_(readiness) {}

HealthService::~HealthService() {
  MutexLock lock(mutex_);
  ferry::Check(watches_.empty(),
               "the queues are drained before their service goes");
}

void HealthService::Tell() {
  MutexLock lock(mutex_);
  TellWatches();
}

void HealthService::TellWatches() {
  const bool is_ready = readiness_.is_ready();
  const bool takes_requests = readiness_.takes_requests();
  if (is_ready != is_ready_ || takes_requests != takes_requests_) {
    is_ready_ = is_ready;
    takes_requests_ = takes_requests;
    AdvanceWatches();
  }
}

void HealthService::SetModels(Models models) {
  MutexLock lock(mutex_);
  models_ = std::move(models);
  AdvanceWatches();
}

void HealthService::EndWatches() {
  MutexLock lock(mutex_);
  watches_end_ = true;
  TellWatches();
  AdvanceWatches();
}

// The service of each watch is this one, which Clang cannot know.
void HealthService::AdvanceWatches() ABSL_NO_THREAD_SAFETY_ANALYSIS {
  for (Watch* watch : watches_) {
    watch->Advance();
  }
}

void HealthService::PostCalls(grpc::ServerCompletionQueue& queue) {
  PostUnaryCalls<Request, Response>(
      queue, [this](const Request& request, Response& response) {
        return AnswerCheck(request, response);
      });
  new Watch(*this, queue);
}

grpc::Status HealthService::AnswerCheck(const Request& request,
                                        Response& response) {
  MutexLock lock(mutex_);
  TellWatches();
  response.set_status(StatusOf(request.service()));
  return response.status() == Response::SERVICE_UNKNOWN
             ? grpc::Status(grpc::StatusCode::NOT_FOUND, "unknown service")
             : grpc::Status::OK;
}

HealthService::Response::ServingStatus HealthService::StatusOf(
    const std::string& service) const {
  bool is_serving = is_ready_;
  if (!service.empty() && service != service_name_) {
    const auto model = models_.find(service);
    if (model == models_.end()) {
      return Response::SERVICE_UNKNOWN;
    }
    is_serving = takes_requests_ && model->second;
  }
  return is_serving ? Response::SERVING : Response::NOT_SERVING;
}

}  // namespace ferry

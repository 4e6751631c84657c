// Implements SoakLoad: one sending thread, one answering thread.
#include "bench/soak/soak_load.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/client/model_client.h"

namespace ferry::bench {
namespace {

constexpr char kMethod[] = "/inference.GRPCInferenceService/ModelInfer";
constexpr Duration kSecond = std::chrono::milliseconds(1000);
constexpr Duration kLookForAnswers = std::chrono::milliseconds(5);
constexpr Duration kLongestSleep = std::chrono::milliseconds(2);
// After the last send; calls without an answer then are cancelled, and an
// answer that never comes shows in the account.
constexpr Duration kAnswerLimit = std::chrono::milliseconds(30000);

// The field `id` (3) of ModelInferRequest, to append to a serialized one.
std::string IdField(const std::string& id) {
  std::string field = "\x1a";
  field.push_back(static_cast<char>(id.size()));
  return field + id;
}

grpc::ByteBuffer WithId(const grpc::ByteBuffer& request,
                        const std::string& id) {
  std::vector<grpc::Slice> slices;
  request.Dump(&slices);
  slices.emplace_back(IdField(id));
  return grpc::ByteBuffer(slices.data(), slices.size());
}

}  // namespace

// One call; deletes itself when its tag comes back.
class SoakLoad::Rpc {
 public:
  Rpc(uint64_t number, bool is_right, size_t index)
      : number_(number),
        id_(absl::StrCat("soak-", number)),
        is_right_(is_right),
        index_(index) {}

  void Start(SoakLoad& load, const grpc::ByteBuffer& request,
             Duration deadline) {
    if (deadline > Duration::zero()) {
      context_.set_deadline(DeadlineIn(deadline));
    }
    AddHeaders(load.options_.connection, context_);
    reader_ = load.stub_.PrepareUnaryCall(&context_, kMethod,
                                          WithId(request, id_), &load.queue_);
    reader_->StartCall();
    reader_->Finish(&reply_, &status_, this);
  }

  void Cancel() { context_.TryCancel(); }

  ReplyCheck Check(const ReplyChecker& checker) {
    if (!status_.ok()) {
      return ReplyCheck::kNotChecked;
    }
    inference::ModelInferResponse reply;
    grpc::ProtoBufferReader reader(&reply_);
    if (!is_right_ || !reply.ParseFromZeroCopyStream(&reader)) {
      return ReplyCheck::kMalformed;
    }
    return checker.Check(index_, id_, reply);
  }

  uint64_t number() const { return number_; }
  absl::StatusCode code() const {
    return static_cast<absl::StatusCode>(status_.error_code());
  }

 private:
  const uint64_t number_;
  const std::string id_;
  const bool is_right_;
  const size_t index_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::GenericClientAsyncResponseReader> reader_;
  grpc::ByteBuffer reply_;
  grpc::Status status_;
};

SoakLoad::SoakLoad(const SoakOptions& options, SoakRequests requests,
                   const ReplyChecker& checker)
    : options_(options),
      requests_(std::move(requests)),
      checker_(checker),
      random_(options.seed),
      channel_(MakeChannel(options.address, options.connection)),
      stub_(channel_),
      thread_([this] { Serve(); }) {}

SoakLoad::~SoakLoad() {
  {
    MutexLock lock(mutex_);
    for (const auto& [number, rpc] : running_) {
      rpc->Cancel();
    }
  }
  queue_.Shutdown();
  thread_.join();
}

SoakAccount SoakLoad::Run(
    const std::function<void(Duration elapsed)>& every_second) {
  const TimePoint start = pacer_.Now();
  const TimePoint end = start + options_.duration;
  TimePoint next_send = start;
  TimePoint next_second = start;
  const auto tick = [&](TimePoint now) {
    CancelDue(now);
    if (now >= next_second) {
      every_second(now - start);
      next_second = std::max(next_second + kSecond, now);
    }
  };
  while (!stopped_.load(std::memory_order_relaxed) && pacer_.Now() < end) {
    const TimePoint now = pacer_.Now();
    tick(now);
    if (now < next_send) {
      pacer_.SleepUntil(std::min(next_send, now + kLongestSleep));
      continue;
    }
    if (outstanding() < static_cast<size_t>(options_.max_outstanding)) {
      SendOne(now);
    }
    next_send = std::max(next_send + NextGap(now - start),
                         now - kLongestSleep);  // no endless catching up
  }
  const TimePoint give_up = pacer_.Now() + kAnswerLimit;
  while (outstanding() > 0 && pacer_.Now() < give_up) {
    tick(pacer_.Now());
    pacer_.SleepUntil(pacer_.Now() + kLookForAnswers);
  }
  return ledger_.account();
}

void SoakLoad::SendOne(TimePoint now) {
  const bool is_right = Uniform() >= options_.wrong_share;
  const auto& pool = is_right ? requests_.right : requests_.wrong;
  const size_t index = random_() % pool.size();
  const double kind = Uniform();
  const double spread = Uniform();
  const uint64_t number = ledger_.Send();
  Duration deadline{0};
  if (kind < options_.cancelled_share) {
    cancels_.emplace(
        now + Milliseconds(
                  spread *
                  static_cast<double>(options_.longest_cancel.count()) / 1e6),
        number);
  } else if (kind < options_.cancelled_share + options_.deadline_share) {
    deadline = Duration(
        1 +
        static_cast<int64_t>(
            spread * static_cast<double>(options_.longest_deadline.count())));
  }
  auto* const rpc = new Rpc(number, is_right, index);
  // Held over Start(): an answer is looked up only after the call is known.
  MutexLock lock(mutex_);
  running_[number] = rpc;
  rpc->Start(*this, pool[index], deadline);
}

Duration SoakLoad::NextGap(Duration elapsed) {
  const bool is_burst = elapsed % options_.burst_every < options_.burst_length;
  const double rate = options_.rate * (is_burst ? options_.burst_factor : 1);
  return Milliseconds(-std::log(1 - Uniform()) / rate * 1e3);
}

void SoakLoad::CancelDue(TimePoint now) {
  MutexLock lock(mutex_);
  while (!cancels_.empty() && cancels_.begin()->first <= now) {
    const auto found = running_.find(cancels_.begin()->second);
    if (found != running_.end()) {
      found->second->Cancel();
    }
    cancels_.erase(cancels_.begin());
  }
}

void SoakLoad::Serve() {
  void* tag = nullptr;
  bool ok = false;
  while (queue_.Next(&tag, &ok)) {
    Answered(*static_cast<Rpc*>(tag));
  }
}

void SoakLoad::Answered(Rpc& rpc) {
  ledger_.Answer(rpc.number(), rpc.code(), rpc.Check(checker_));
  {
    MutexLock lock(mutex_);
    running_.erase(rpc.number());
  }
  delete &rpc;
}

size_t SoakLoad::outstanding() const {
  MutexLock lock(mutex_);
  return running_.size();
}

}  // namespace ferry::bench

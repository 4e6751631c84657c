// Implements ClientShares: sums under one lock.
#include "server/control/client_shares.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace ferry {
namespace {

// What a client may have under way whose rate is fair, of the rows at work: it
// may ask in bursts.
constexpr int64_t kMostOfFair = 2;

// For how long a client that has asked counts among those that share.
constexpr Duration kPresent = std::chrono::seconds(1);

// A client may ask for so much more than its fair rate, as what comes at random
// is now more, now less.
constexpr double kSlack = 1.25;

// Over which rates are taken.
constexpr Duration kRateTime = std::chrono::seconds(1);

// How often it is looked which clients these are.
constexpr Duration kLookInterval = std::chrono::milliseconds(10);

}  // namespace

const char* NameOf(ClientRefusal refusal) {
  switch (refusal) {
    case ClientRefusal::kRequests:
      return "requests";
    case ClientRefusal::kBytes:
      return "bytes";
    case ClientRefusal::kShare:
      return "share";
  }
  Check(false, "a refusal is one of three");
  return "";
}

absl::Status ClientShares::Refuse(ClientRefusal why, Client& client) {
  ++client.refused[static_cast<size_t>(why)];
  switch (why) {
    case ClientRefusal::kRequests:
      return absl::ResourceExhaustedError(
          "expected fewer requests of this client under way at once "
          "(--client-max-requests), got one more; send it again when one is "
          "answered");
    case ClientRefusal::kBytes:
      return absl::ResourceExhaustedError(
          "expected fewer bytes of this client's requests under way at once "
          "(--client-max-bytes), got more; send it again when one is answered");
    case ClientRefusal::kShare:
      break;
  }
  return absl::ResourceExhaustedError(
      "this client has its share of the model under way, and other clients "
      "want theirs; send the request again when some are answered");
}

void ClientShares::Rate::Age(TimePoint now) {
  const std::chrono::duration<double> passed = now - std::exchange(at_, now);
  rows_ *= std::exp(-passed / std::chrono::duration<double>(kRateTime));
}

void ClientShares::Forget(Model& model, TimePoint now) {
  absl::erase_if(model.parts, [now](const auto& each) {
    return each.second.rows == 0 && each.second.last + kPresent <= now;
  });
}

void ClientShares::Look(Model& model, int64_t rows_at_work, TimePoint now) {
  if (now < model.looked + kLookInterval) {
    return;
  }
  model.looked = now;
  Forget(model, now);
  std::vector<double> asked;
  for (auto& [client, part] : model.parts) {
    part.asked.Age(now);
    asked.push_back(part.asked.rows());
  }
  std::sort(asked.begin(), asked.end());
  model.computed.Age(now);
  model.whole =
      std::max(model.computed.rows(), static_cast<double>(rows_at_work));
  double left = model.whole;
  auto clients = static_cast<double>(asked.size());
  for (const double least : asked) {  // the fair rate is at least that
    model.fair = left / clients;
    if (least >= model.fair) {
      return;
    }
    left -= least;
    --clients;
  }
  model.fair = std::numeric_limits<double>::infinity();  // each has all it asks
}

bool ClientShares::IsPastShare(const Request& request, const Part& own,
                               Model& model, TimePoint now) {
  const int64_t computed = std::max<int64_t>(request.instances_rows, 1);
  if (own.rows == 0 || model.rows + request.rows <= computed) {
    return false;
  }
  const int64_t at_work = computed + request.batch_rows;
  Look(model, at_work, now);
  const int64_t wanted = own.rows + request.rows;
  if (model.parts.size() == 1 || (own.asked.rows() <= kSlack * model.fair &&
                                  wanted <= kMostOfFair * at_work)) {
    return false;
  }
  const double share =
      static_cast<double>(at_work) * std::min(model.fair / model.whole, 1.0);
  // Past the rows at work more of a client that floods only has others wait.
  return model.rows >= at_work || static_cast<double>(wanted) > share;
}

absl::Status ClientShares::Take(const Request& request, Hold& hold) {
  Check(hold.shares_ == nullptr, "a request takes once");
  MutexLock lock(mutex_);
  const TimePoint now = clock_.Now();
  Client& client = clients_[request.client];
  if (!models_.contains(request.model)) {  // versions that are gone go
    absl::erase_if(models_, [now](auto& each) {
      Forget(each.second, now);
      return each.second.parts.empty();
    });
  }
  Model& model = models_[request.model];
  model.name = request.model_name;
  const auto [place, is_new] = model.parts.try_emplace(&client);
  if (is_new) {  // the count begins before there is anything to miss
    client.computed.try_emplace(request.model_name, Duration(0));
  }
  Part& own = place->second;
  own.last = now;
  own.asked.Add(std::max<int64_t>(request.rows, 1), now);
  if (bounds_.requests > 0 && client.requests >= bounds_.requests) {
    return Refuse(ClientRefusal::kRequests, client);
  }
  if (bounds_.bytes > 0 && client.bytes > 0 &&
      client.bytes + request.bytes > bounds_.bytes) {
    return Refuse(ClientRefusal::kBytes, client);
  }
  if (IsPastShare(request, own, model, now)) {
    return Refuse(ClientRefusal::kShare, client);
  }
  hold.shares_ = this;
  hold.client_ = &client;
  hold.model_ = request.model;
  hold.rows_ = std::max<int64_t>(request.rows, 1);
  hold.bytes_ = request.bytes;
  hold.computed_.reset();
  ++client.requests;
  client.bytes += hold.bytes_;
  own.rows += hold.rows_;
  model.rows += hold.rows_;
  return absl::OkStatus();
}

void ClientShares::GiveBack(const Hold& hold) {
  MutexLock lock(mutex_);
  --hold.client_->requests;
  hold.client_->bytes -= hold.bytes_;
  Model& model = models_.at(hold.model_);
  model.parts.at(hold.client_).rows -= hold.rows_;
  model.rows -= hold.rows_;
  if (hold.computed_.has_value()) {
    model.computed.Add(hold.rows_, clock_.Now());
    hold.client_->computed[model.name] += *hold.computed_;
  }
}

std::vector<ClientShares::Counts> ClientShares::Count() const {
  std::vector<Counts> counts;
  MutexLock lock(mutex_);
  for (const auto& [name, client] : clients_) {
    counts.push_back({.client = name,
                      .requests = client.requests,
                      .bytes = client.bytes,
                      .refused = client.refused,
                      .computed = client.computed});
  }
  std::sort(counts.begin(), counts.end(), [](const Counts& a, const Counts& b) {
    return a.client < b.client;
  });
  return counts;
}

}  // namespace ferry

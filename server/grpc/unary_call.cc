// Implements UnaryCall: bounds what a small call receives and sends.
#include "server/grpc/unary_call.h"

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "server/grpc/status.h"

namespace ferry {

UnaryCall::UnaryCall(std::shared_ptr<const Method> method,
                     grpc::ServerCompletionQueue& queue)
    : method_(std::move(method)), queue_(queue) {
  method_->ask(context_, message_, responder_, queue_,
               static_cast<QueueTag*>(this));
}

void UnaryCall::Ended(bool ok) {
  if (is_matched_ || !ok) {
    method_->unsent.Remove(*this);
    delete this;
    return;
  }
  is_matched_ = true;
  Post(method_, queue_);
  if (method_->tell) {
    method_->tell(method_->path, context_);
  }
  method_->answer(
      message_, context_,
      [this](const grpc::Status& status, grpc::ByteBuffer& response) {
        Send(status, response);
      });
}

void UnaryCall::Send(const grpc::Status& status, grpc::ByteBuffer& response) {
  if (!status.ok()) {
    AddRetryPushback(RetryPushbackMs(status), context_);
    method_->unsent.Add(*this, status.error_message().size());
    responder_.FinishWithError(status, static_cast<QueueTag*>(this));
    return;
  }
  const size_t bytes = response.Length();
  if (!method_->unsent.TryAdd(*this, bytes)) {
    response.Clear();
    Send(grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED,
                      "replies that clients have not read leave no room for "
                      "this one: expected them to be less than "
                      "--grpc-max-unsent-bytes; read replies, or ask again"),
         response);
    return;
  }
  TakenReply taken;
  taken.bytes.Swap(&response);
  responder_.Finish(taken, grpc::Status::OK, static_cast<QueueTag*>(this));
}

grpc::Status CheckSize(const google::protobuf::Descriptor& request,
                       const grpc::ByteBuffer& message, size_t max_bytes) {
  if (message.Length() <= max_bytes) {
    return grpc::Status::OK;
  }
  return {grpc::StatusCode::INVALID_ARGUMENT,
          absl::StrCat("expected a ", request.name(), " of at most ", max_bytes,
                       " bytes, got ", message.Length())};
}

grpc::Status MalformedMessage(const google::protobuf::Descriptor& request) {
  return {grpc::StatusCode::INVALID_ARGUMENT,
          absl::StrCat("expected a ", request.name(),
                       ", got a truncated or malformed message")};
}

const google::protobuf::MethodDescriptor& RpcOf(
    const google::protobuf::Descriptor& request) {
  const auto& service = *request.file()->service(0);
  int i = 0;
  while (i < service.method_count() &&
         service.method(i)->input_type() != &request) {
    ++i;
  }
  Check(i < service.method_count(), "a request is that of an RPC");
  return *service.method(i);
}

std::string PathOf(const google::protobuf::MethodDescriptor& rpc) {
  return absl::StrCat("/", rpc.service()->full_name(), "/", rpc.name());
}

}  // namespace ferry

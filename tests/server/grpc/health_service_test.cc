// Tests that a watch is told each change of the server's readiness, whenever it
// began, by a real client over a channel within the process.
#include "server/grpc/health_service.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>

#include "server/grpc/queue_tag.h"

namespace ferry {
namespace {

using grpc::health::v1::Health;
using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

const gpr_timespec kDeadline = gpr_time_from_seconds(20, GPR_TIMESPAN);

class HealthServiceTest : public testing::Test {
 protected:
  HealthServiceTest() {
    grpc::ServerBuilder builder;
    builder.RegisterService(&service_);
    queue_ = builder.AddCompletionQueue();
    server_ = builder.BuildAndStart();
    service_.PostCalls(*queue_);
    thread_ = std::thread([this] {
      void* tag = nullptr;
      bool ok = false;
      while (queue_->Next(&tag, &ok)) {
        static_cast<QueueTag*>(tag)->Ended(ok);
      }
    });
    stub_ = Health::NewStub(server_->InProcessChannel({}));
    readiness_.MoveTo(ServerState::kReady);
    readiness_.Looked();
  }

  ~HealthServiceTest() override {
    service_.EndWatches();
    server_->Shutdown();
    queue_->Shutdown();
    thread_.join();
  }

  // A client that watches one service.
  class Watch {
   public:
    Watch(Health::Stub& stub, const std::string& name) {
      HealthCheckRequest request;
      request.set_service(name);
      context_.set_deadline(kDeadline);
      reader_ = stub.Watch(&context_, request);
    }
    ~Watch() {
      context_.TryCancel();
      (void)reader_->Finish();
    }

    // Waits for the next; SERVICE_UNKNOWN: none came.
    HealthCheckResponse::ServingStatus Next() {
      HealthCheckResponse told;
      return reader_->Read(&told) ? told.status()
                                  : HealthCheckResponse::SERVICE_UNKNOWN;
    }

   private:
    grpc::ClientContext context_;
    std::unique_ptr<grpc::ClientReader<HealthCheckResponse>> reader_;
  };

  HealthCheckResponse::ServingStatus Check(const std::string& name) {
    grpc::ClientContext context;
    context.set_deadline(kDeadline);
    HealthCheckRequest request;
    request.set_service(name);
    HealthCheckResponse told;
    EXPECT_TRUE(stub_->Check(&context, request, &told).ok());
    return told.status();
  }

  Readiness readiness_;
  UnsentReplies unsent_{1 << 20};
  HealthService service_{"inference", readiness_, unsent_};
  std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  std::unique_ptr<grpc::Server> server_;
  std::thread thread_;
  std::unique_ptr<Health::Stub> stub_;
};

TEST_F(HealthServiceTest, AWatchIsToldWhatChangedSinceItBegan) {
  Watch watch(*stub_, "inference");
  EXPECT_EQ(watch.Next(), HealthCheckResponse::SERVING);
  readiness_.PortIsBlind(true);
  service_.Tell();
  EXPECT_EQ(watch.Next(), HealthCheckResponse::NOT_SERVING);
  readiness_.PortIsBlind(false);
  service_.Tell();
  EXPECT_EQ(watch.Next(), HealthCheckResponse::SERVING);
}

TEST_F(HealthServiceTest, AWatchThatBeganBetweenTwoLooksMissesNoChange) {
  service_.SetModels({{"m", true}});
  service_.Tell();
  readiness_.PortIsBlind(true);
  Watch watch(*stub_, "inference");
  Watch of_model(*stub_, "m");
  EXPECT_EQ(watch.Next(), HealthCheckResponse::NOT_SERVING);
  EXPECT_EQ(of_model.Next(), HealthCheckResponse::NOT_SERVING);
  readiness_.PortIsBlind(false);  // as at the look before
  service_.Tell();
  EXPECT_EQ(watch.Next(), HealthCheckResponse::SERVING);
  EXPECT_EQ(of_model.Next(), HealthCheckResponse::SERVING);
}

TEST_F(HealthServiceTest, AWatchHearsWhatACheckFound) {
  Watch watch(*stub_, "");
  EXPECT_EQ(watch.Next(), HealthCheckResponse::SERVING);
  readiness_.PortIsBlind(true);
  EXPECT_EQ(Check(""), HealthCheckResponse::NOT_SERVING);
  EXPECT_EQ(watch.Next(), HealthCheckResponse::NOT_SERVING);
}

}  // namespace
}  // namespace ferry

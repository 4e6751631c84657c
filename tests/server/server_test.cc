// Tests that a server answers what runs before it goes, and that a device's
// metrics stand beside those of the models.
#include "server/server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "models/device.h"
#include "proto/admin.grpc.pb.h"
#include "proto/inference.grpc.pb.h"

namespace ferry {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kScenario[] =
    "gpu uuid=GPU-aa name=NVIDIA_H100 memory_mib=81559 mig=off "
    "power_mw=350500\n";
constexpr char kConfig[] =
    "backend: \"ferry_sim\" max_batch_size: 4\n"
    "input { name: \"in\" data_type: TYPE_FP32 dims: 2 }\n"
    "output { name: \"out\" data_type: TYPE_FP32 dims: 2 }\n"
    "parameters { key: \"ferry.alpha_ms\" value { string_value: \"400\" } }\n";

// Starts a call of one row on a thread of its own, and waits for its end.
class Call {
 public:
  explicit Call(int port)
      : thread_([this, port] {
          const auto stub = inference::GRPCInferenceService::NewStub(
              grpc::CreateChannel(absl::StrCat("127.0.0.1:", port),
                                  grpc::InsecureChannelCredentials()));
          inference::ModelInferRequest request;
          request.set_model_name("m");
          auto* input = request.add_inputs();
          input->set_name("in");
          input->set_datatype("FP32");
          input->add_shape(1);
          input->add_shape(2);
          request.add_raw_input_contents(std::string(8, '\0'));
          grpc::ClientContext context;
          inference::ModelInferResponse response;
          status_ = stub->ModelInfer(&context, request, &response);
        }) {}

  grpc::Status Join() {
    thread_.join();
    return status_;
  }

 private:
  grpc::Status status_;
  std::thread thread_;
};

std::string Get(int port, const std::string& path) {
  const int socket_fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
  const std::string request =
      "GET " + path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  std::string reply;
  if (connect(socket_fd, reinterpret_cast<sockaddr*>(&address),
              sizeof(address)) == 0 &&
      send(socket_fd, request.data(), request.size(), MSG_NOSIGNAL) > 0) {
    char buffer[4096];
    ssize_t size = 0;
    while ((size = recv(socket_fd, buffer, sizeof(buffer), 0)) > 0) {
      reply.append(buffer, static_cast<size_t>(size));
    }
  }
  close(socket_fd);
  return reply;
}

std::string GetMetrics(int port) { return Get(port, "/metrics"); }

class ServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = ::testing::TempDir() + "server." + std::to_string(getpid());
    std::filesystem::create_directories(root_ + "/models/m/1");
    std::ofstream(root_ + "/models/m/config.pbtxt") << kConfig;
    std::ofstream(root_ + "/scenario") << kScenario;
    setenv("FERRY_FAKE_NVML", (root_ + "/scenario").c_str(), 1);
    options_.repository.path = root_ + "/models";
    options_.grpc.port = 0;
    options_.metrics.port = 0;
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  std::unique_ptr<Server> Start(DeviceMetrics* device = nullptr) {
    auto ports = BindPorts(options_);
    EXPECT_TRUE(ports.ok()) << ports.status();
    auto server = Server::Create(options_, *std::move(ports), device);
    EXPECT_TRUE(server.ok()) << server.status();
    EXPECT_TRUE((*server)->Listen().ok());
    return *std::move(server);
  }

  static void WaitForBatch(const Server& server) {
    while (GetMetrics(*server.metrics_port())
               .find("ferry_running_batches{model=\"m\",version=\"1\"} 1") ==
           std::string::npos) {
    }
  }

  // Serves once, and returns what /metrics says.
  std::string Serve(DeviceMetrics* device) {
    const std::unique_ptr<Server> server = Start(device);
    std::string text = GetMetrics(*server->metrics_port());
    server->BeginDrain();
    EXPECT_TRUE(
        server->FinishDrain(Clock::Steady().Now() + Milliseconds(20'000)).ok());
    return text;
  }

  std::string root_;
  ServerOptions options_;
};

TEST_F(ServerTest, BatchThatOutlivesTheDrainStillFindsItsQueue) {
  std::unique_ptr<Server> server = Start();
  Call call(server->grpc_port());
  WaitForBatch(*server);
  server->BeginDrain();
  const absl::Status status =
      server->FinishDrain(Clock::Steady().Now() + Milliseconds(150));
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded) << status;
  server.reset();
  EXPECT_EQ(call.Join().error_code(), grpc::StatusCode::UNAVAILABLE)
      << "the drain had to end before";
}

TEST_F(ServerTest, PortThatIsTwiceTheSameIsFoundAtOnce) {
  const auto taken = ListenSockets::Bind("127.0.0.1", 0);
  ASSERT_TRUE(taken.ok()) << taken.status();
  ServerOptions busy_metrics = options_;
  busy_metrics.metrics.port = taken->port();
  EXPECT_THAT(BindPorts(busy_metrics).status().ToString(),
              HasSubstr(absl::StrCat("cannot listen on 127.0.0.1:",
                                     taken->port(), " for metrics")));
  ServerOptions busy_grpc = options_;
  busy_grpc.grpc.port = taken->port();
  EXPECT_THAT(BindPorts(busy_grpc).status().ToString(),
              HasSubstr(absl::StrCat(
                  "cannot listen on 127.0.0.1:", taken->port(), " for gRPC")));
}

TEST_F(ServerTest, MetricsAreAtAnAddress) {
  options_.metrics.address = "localhost";
  EXPECT_EQ(BindPorts(options_).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(ServerTest, StateHasEachModelAndItsQueue) {
  const std::unique_ptr<Server> server = Start();
  EXPECT_THAT(server->DescribeState(),
              ElementsAre(HasSubstr("state: ready live=1 draining=0"),
                          HasSubstr("model m version=1 is ready "
                                    "queue_requests=0 queue_rows=0 "
                                    "running_batches=0")));
  server->BeginDrain();
  EXPECT_THAT(server->DescribeState(),
              Contains(HasSubstr("state: not ready live=1 draining=1")));
}

TEST_F(ServerTest, DrainOfAClientIsToldAndServesOn) {
  options_.grpc.admin = AdminRpc::kOn;
  const std::unique_ptr<Server> server = Start();
  EXPECT_FALSE(server->is_draining());
  const auto stub = v1::Admin::NewStub(
      grpc::CreateChannel(absl::StrCat("127.0.0.1:", server->grpc_port()),
                          grpc::InsecureChannelCredentials()));
  for (int i = 0; i < 2; ++i) {  // it may be asked again
    grpc::ClientContext context;
    v1::DrainResponse response;
    EXPECT_TRUE(stub->Drain(&context, v1::DrainRequest(), &response).ok());
    EXPECT_TRUE(server->is_draining());
  }
  EXPECT_EQ(server->Look(), std::nullopt);
  EXPECT_TRUE(server->is_draining());
  EXPECT_THAT(Get(*server->metrics_port(), "/v2/health/ready"),
              HasSubstr(" 503 "));
  EXPECT_THAT(Get(*server->metrics_port(), "/v2/health/live"),
              HasSubstr(" 200 "));
  Call call(server->grpc_port());
  EXPECT_TRUE(call.Join().ok()) << "before its delay is over it serves";
}

TEST_F(ServerTest, VersionsAreInTheStatus) {
  const std::unique_ptr<Server> server = Start();
  EXPECT_THAT(Get(*server->metrics_port(), "/status.json"),
              HasSubstr("\"versions\":[{\"name\":\"m\",\"reason\":\"\","
                        "\"state\":\"READY\",\"version\":\"1\"}]"));
}

TEST_F(ServerTest, ServerThatGoesWithoutADrainWaitsForItsBatch) {
  std::unique_ptr<Server> server = Start();
  Call call(server->grpc_port());
  WaitForBatch(*server);
  server.reset();
  call.Join();
}

TEST_F(ServerTest, MetricsOfTheDeviceFollowTheModels) {
  const auto device =
      Device::Open(*nvml::ParseDevice("cuda:0"), std::nullopt,
                   {.nvml = FERRY_FAKE_NVML_FILE, .sysfs = root_});
  ASSERT_TRUE(device.ok()) << device.status();
  DeviceMetrics metrics((*device)->library(), (*device)->choice(),
                        [&] { return (*device)->sampler().Read(); });
  const std::string text = Serve(&metrics);
  EXPECT_THAT(text, HasSubstr("ferry_instances{model=\"m\""));
  EXPECT_THAT(text, HasSubstr("ferry_device_info{uuid=\"GPU-aa\""));
  EXPECT_THAT(text, HasSubstr("ferry_gpu_power_watts{uuid=\"GPU-aa\"} 350.5"));
}

TEST_F(ServerTest, HealthAndModelsAreToldWhileNvmlHangs) {
  const std::string hang = root_ + "/hang";
  std::ofstream(root_ + "/scenario") << kScenario << "hang while=" << hang;
  const auto device =
      Device::Open(*nvml::ParseDevice("cuda:0"), std::nullopt,
                   {.nvml = FERRY_FAKE_NVML_FILE, .sysfs = root_});
  ASSERT_TRUE(device.ok()) << device.status();
  DeviceMetrics metrics((*device)->library(), (*device)->choice(),
                        [&] { return (*device)->sampler().Read(); });
  const std::unique_ptr<Server> server = Start(&metrics);
  const int locked = open(hang.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  ASSERT_EQ(flock(locked, LOCK_EX), 0);
  // The reading of the start is told until it is too old.
  std::string text;
  do {
    EXPECT_EQ(server->Look(), std::nullopt);
    text = GetMetrics(*server->metrics_port());
    EXPECT_THAT(Get(*server->metrics_port(), "/v2/health/ready"),
                HasSubstr("200 OK"));
  } while (absl::StrContains(text, "ferry_gpu_power_watts"));
  close(locked);
  EXPECT_THAT(text, HasSubstr("ferry_instances{model=\"m\""));
  EXPECT_THAT(text, HasSubstr("ferry_device_info{uuid=\"GPU-aa\""));
  const std::string age = "\nferry_device_reading_age_seconds ";
  EXPECT_GT(std::stod(text.substr(text.find(age) + age.size())), 5);
  do {
    EXPECT_EQ(server->Look(), std::nullopt);
  } while (!absl::StrContains(GetMetrics(*server->metrics_port()),
                              "ferry_gpu_power_watts"));
}

TEST_F(ServerTest, LooksGoOnWhileTheDeviceDoesNotAnswer) {
  std::promise<void> has_come;
  std::promise<void> may_go;
  std::atomic<int> calls{0};
  options_.lifecycle.is_device_lost = [&] {
    if (++calls == 1) {
      has_come.set_value();
      may_go.get_future().wait();
    }
    return calls > 1;
  };
  const std::unique_ptr<Server> server = Start();
  EXPECT_EQ(server->Look(), std::nullopt);
  has_come.get_future().wait();
  EXPECT_EQ(server->Look(), std::nullopt);
  EXPECT_FALSE(server->DeviceAnswers());
  may_go.set_value();
  std::optional<std::string> why;
  while (!why.has_value()) {
    why = server->Look();
  }
  EXPECT_EQ(why, "device is lost");
  EXPECT_TRUE(server->DeviceAnswers());
}

TEST_F(ServerTest, ProcessorHasNoneOfThem) {
  const std::string text = Serve(nullptr);
  EXPECT_THAT(text, HasSubstr("ferry_instances{model=\"m\""));
  EXPECT_THAT(text, Not(HasSubstr("ferry_device_")));
}

}  // namespace
}  // namespace ferry

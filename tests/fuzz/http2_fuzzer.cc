// http2_fuzzer fuzzes what clients send over HTTP/2 to a whole endpoint: the
// input is a script of up to four connections (http2_script.h).
//
// What must hold, beside that nothing is read or written where it may not be:
//   1. What a client sends is read or refused, and a connection that it ends
//      is ended, both soon.
//   2. Each call is answered where the client does nothing but whole calls.
//   3. Afterwards the server is idle, and has room for a client that is honest,
//      which is answered at once and with its own values.
#include <grpc/support/time.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/check.h"
#include "base/clock.h"
#include "proto/inference.grpc.pb.h"
#include "tests/fuzz/fuzzed_server.h"
#include "tests/fuzz/http2_script.h"

namespace ferry {
namespace {

// What takes longer hangs.
constexpr Duration kHangs = std::chrono::seconds(20);
// What a client waits that may have sent the first half of a frame.
constexpr Duration kPatience = std::chrono::microseconds(300);
// Runs that one connection of the honest client serves.
constexpr int kRunsOfConnection = 32;

// One connection of the script, and what the server has sent on it.
class HostileClient {
 public:
  HostileClient(const FuzzedServer& server, const ScriptedConnection& script)
      : fd_(server.Connect()), script_(script) {}

  // Sends all that the script has, then a PING, and reads until that is
  // answered or the server has ended the connection.
  void Send() {
    const std::string sent = script_.bytes + LastPing();
    const TimePoint begun = Clock::Steady().Now();
    absl::string_view left = sent;
    const auto wait = [&] {
      return script_.is_honest || !left.empty() ? kHangs : kPatience;
    };
    while (!IsServed(left) &&
           Poll(left.empty() ? POLLIN : POLLIN | POLLOUT, wait())) {
      Write(left);
      Read();
      Check(Clock::Steady().Now() < begun + kHangs, "what is sent is read");
    }
    Check(left.empty() || is_ended_, "what is sent is read");
    Check(!script_.is_honest || IsServed(left), "honest calls are answered");
  }

  // Sends no more, and reads until the server has ended the connection.
  void End() {
    shutdown(fd_.get(), SHUT_WR);
    while (!is_ended_) {
      Check(Poll(POLLIN, kHangs), "a connection that is ended ends");
      Read();
    }
    Check(!script_.is_honest || replies_ >= script_.calls,
          "no honest call is lost");
  }

 private:
  bool IsServed(absl::string_view left) const {
    return is_ended_ || (left.empty() && has_answer_ &&
                         (!script_.is_honest || replies_ >= script_.calls));
  }

  bool Poll(int events, Duration wait) const {
    pollfd asked = {fd_.get(), static_cast<int16_t>(events), 0};
    const auto seconds = std::chrono::floor<std::chrono::seconds>(wait);
    const timespec most = {seconds.count(), (wait - seconds).count()};
    int ready = 0;
    do {
      ready = ppoll(&asked, 1, &most, nullptr);
    } while (ready < 0 && errno == EINTR);  // by libFuzzer's clock
    return ready > 0;
  }

  void Write(absl::string_view& left) {
    if (left.empty()) {
      return;
    }
    const ssize_t size =
        send(fd_.get(), left.data(), left.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (size > 0) {
      left.remove_prefix(static_cast<size_t>(size));
    } else if (size < 0 && errno != EAGAIN) {
      left = {};  // the server has ended it
    }
  }

  void Read() {
    char bytes[16 << 10];
    const ssize_t size = recv(fd_.get(), bytes, sizeof(bytes), MSG_DONTWAIT);
    if (size > 0) {
      received_.append(bytes, static_cast<size_t>(size));
      TakeFrames();
    } else if (size == 0 || errno != EAGAIN) {
      is_ended_ = true;
    }
  }

  void TakeFrames() {
    constexpr size_t kHead = 9;
    constexpr uint8_t kHeaders = 1;
    constexpr uint8_t kPing = 6;
    constexpr uint8_t kEndStreamOrAck = 1;
    size_t at = 0;
    while (received_.size() - at >= kHead) {
      const auto byte = [&](size_t i) {
        return static_cast<uint8_t>(received_[at + i]);
      };
      const size_t size =
          size_t{byte(0)} << 16 | size_t{byte(1)} << 8 | byte(2);
      if (received_.size() - at < kHead + size) {
        break;
      }
      const bool is_last = (byte(4) & kEndStreamOrAck) != 0;
      replies_ += byte(3) == kHeaders && is_last ? 1 : 0;
      has_answer_ =
          has_answer_ ||
          (byte(3) == kPing && is_last && size == kPingBytes &&
           absl::string_view(received_).substr(at + kHead, kPingBytes) ==
               absl::string_view(LastPing()).substr(kHead));
      at += kHead + size;
    }
    received_.erase(0, at);
  }

  static constexpr size_t kPingBytes = 8;

  const OwnedFd fd_;
  const ScriptedConnection& script_;
  std::string received_;  // of the frame that has not all come
  int replies_ = 0;
  bool has_answer_ = false;  // to the last PING
  bool is_ended_ = false;
};

class HonestClient {
 public:
  explicit HonestClient(const FuzzedServer& server) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    stub_ = inference::GRPCInferenceService::NewStub(grpc::CreateCustomChannel(
        server.address(), grpc::InsecureChannelCredentials(), arguments));
  }

  void Ask(int32_t value) {
    const int32_t values[2] = {value, ~value};
    std::string bytes(sizeof(values), '\0');
    std::memcpy(bytes.data(), values, sizeof(values));
    inference::ModelInferRequest request;
    request.set_model_name(kScriptModel);
    request.set_id(std::to_string(value));
    auto& input = *request.add_inputs();
    input.set_name("x");
    input.set_datatype("INT32");
    input.add_shape(1);
    input.add_shape(2);
    request.add_raw_input_contents(bytes);
    grpc::ClientContext context;
    context.set_deadline(
        gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                     gpr_time_from_nanos(kHangs.count(), GPR_TIMESPAN)));
    inference::ModelInferResponse response;
    const grpc::Status status = stub_->ModelInfer(&context, request, &response);
    if (!status.ok()) {
      std::fprintf(stderr, "%d: %s\n", status.error_code(),
                   status.error_message().c_str());
    }
    Check(status.ok(), "an honest client is served");
    Check(response.id() == request.id() &&
              response.raw_output_contents_size() == 1 &&
              response.raw_output_contents(0) == bytes,
          "an honest client gets its own values");
  }

 private:
  std::unique_ptr<inference::GRPCInferenceService::Stub> stub_;
};

void AwaitIdle(const FuzzedServer& server) {
  const TimePoint until = Clock::Steady().Now() + kHangs;
  while (!server.IsIdle()) {
    Check(Clock::Steady().Now() < until, "nothing is left of what was asked");
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

void CheckServer(absl::Span<const uint8_t> input) {
  static const auto* const server =
      new FuzzedServer(kScriptModel, kScriptModelConfig);
  static auto& honest = *new std::unique_ptr<HonestClient>;
  static int32_t runs = 0;
  {
    const std::vector<ScriptedConnection> scripts = ReadScript(input);
    std::vector<std::unique_ptr<HostileClient>> clients;
    for (const ScriptedConnection& script : scripts) {
      clients.push_back(std::make_unique<HostileClient>(*server, script));
    }
    for (const auto& client : clients) {
      client->Send();
    }
    for (const auto& client : clients) {
      client->End();
    }
  }
  AwaitIdle(*server);
  if (runs % kRunsOfConnection == 0) {
    honest = std::make_unique<HonestClient>(*server);
  }
  honest->Ask(++runs);
}

}  // namespace
}  // namespace ferry

// Threads that go on make libFuzzer look for leaks after each input, for long.
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  setenv("GRPC_VERBOSITY", "NONE", /*overwrite=*/1);
  spdlog::set_level(spdlog::level::off);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ferry::CheckServer({data, size});
  return 0;
}

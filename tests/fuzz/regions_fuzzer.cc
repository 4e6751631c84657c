// regions_fuzzer fuzzes what clients do with shared memory: it registers and
// unregisters regions of three objects, has requests read them and replies
// written to them, and cuts the objects.
//
// Each step is a byte that says which, then bytes of its own (Step). A number
// is a byte below f0, or the eight bytes after one that is not.
//
// What must hold, beside that nothing is read or written where it may not be:
//   1. A region is taken where its name, key, range and client allow it, and
//      where not it is refused.
//   2. A request that is taken has the bytes of its range, of a region that its
//      client has. A reply changes its range alone, and no object's size.
//   3. Unregister is answered once, when no request uses the region.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "base/check.h"
#include "base/owned_fd.h"
#include "proto/inference.pb.h"
#include "server/codec/infer_codec.h"
#include "server/codec/infer_response.h"
#include "server/codec/shared_regions.h"
#include "tensor/host_output_pool.h"
#include "tests/server/codec/message_bytes.h"

namespace ferry {
namespace {

using inference::ModelInferRequest;

constexpr size_t kObjects = 3;
constexpr size_t kMostBytes = 96;  // of an object
constexpr size_t kRowBytes = 12;   // FP32 [3], of an input and of an output
constexpr int kMostRows = 4;
constexpr SharedRegions::Bounds kBounds = {
    .regions = 5, .of_client = 4, .bytes = 300, .waiting = 3};

enum Step : uint8_t {
  kRegister,    // client, name, key, offset, bytes
  kUnregister,  // client, name
  kResize,      // object, bytes
  kRequest,     // client, rows, input's and output's name, offset, bytes
  kReply,       // to the oldest request
  kStepCount,
};

class Input {
 public:
  explicit Input(absl::Span<const uint8_t> bytes) : bytes_(bytes) {}

  bool is_over() const { return bytes_.empty(); }

  uint8_t Byte() {
    const uint8_t byte = bytes_.empty() ? 0 : bytes_.front();
    bytes_.remove_prefix(bytes_.empty() ? 0 : 1);
    return byte;
  }

  uint64_t Number() {
    constexpr uint8_t kLong = 0xf0;
    const uint8_t byte = Byte();
    if (byte < kLong) {
      return byte;
    }
    uint64_t number = 0;
    for (int i = 0; i < 8; ++i) {
      number = number << 8 | Byte();
    }
    return number;
  }

  // One of these, or so many of the next bytes, as characters of ASCII, but
  // for '-', which names of real objects have: those of others, too.
  std::string Text(absl::Span<const std::string> usual) {
    const uint8_t byte = Byte();
    if (byte < usual.size()) {
      return usual[byte];
    }
    const size_t size = std::min<size_t>(byte, bytes_.size());
    std::string text;
    for (size_t i = 0; i < size; ++i) {
      const char c = static_cast<char>(Byte() & 0x7f);
      text.push_back(c == '-' ? '_' : c);
    }
    return text;
  }

 private:
  absl::Span<const uint8_t> bytes_;
};

// An object of shared memory, of which each byte tells where it is.
class Object {
 public:
  explicit Object(size_t index)
      : key_(absl::StrCat("/ferry-fuzz-", getpid(), "-", index)),
        fd_(shm_open(key_.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600)) {
    Check(fd_.get() >= 0, "an object is made");
    for (size_t i = 0; i < kMostBytes; ++i) {
      pattern_[i] = static_cast<char>(index * kMostBytes + i);
    }
    Resize(kMostBytes);
  }

  const std::string& key() const { return key_; }
  size_t size() const { return size_; }
  absl::string_view pattern() const { return {pattern_.data(), size_}; }

  void Resize(size_t size) {
    size_ = size;
    Check(ftruncate(fd_.get(), static_cast<off_t>(size)) == 0, "it is cut");
    Restore();
  }

  // Writes the pattern to all of it.
  void Restore() {
    Check(pwrite(fd_.get(), pattern_.data(), size_, 0) ==
              static_cast<ssize_t>(size_),
          "it is written");
  }

  std::string Read() const {
    std::string bytes(kMostBytes + 1, '\0');
    const ssize_t count = pread(fd_.get(), bytes.data(), bytes.size(), 0);
    Check(count >= 0, "it is read");
    bytes.resize(static_cast<size_t>(count));
    return bytes;
  }

 private:
  const std::string key_;
  const OwnedFd fd_;
  std::array<char, kMostBytes> pattern_{};
  size_t size_ = 0;
};

// For each input: to make one costs more than most steps.
std::array<Object, kObjects>& Objects() {
  static auto* const objects =
      new std::array<Object, kObjects>{Object(0), Object(1), Object(2)};
  return *objects;
}

const std::string& ModelName() {
  static const auto* const name = new std::string("m");
  return *name;
}

const ModelSpec& Spec() {
  static const auto* const spec =
      new ModelSpec{.inputs = {{"a", DataType::kFp32, {3}}},
                    .outputs = {{"x", DataType::kFp32, {3}}},
                    .max_batch_size = kMostRows};
  return *spec;
}

// A region as it should be.
struct Expected {
  Object* object = nullptr;
  uint64_t offset = 0;
  uint64_t bytes = 0;
  std::shared_ptr<int> uses;  // and one more, by requests under way
};

// A request that was taken.
struct UnderWay {
  std::unique_ptr<MessageBytes> message;
  InferDecoder decoder;
  InferRequest request;
  std::optional<Expected> input, output;
  uint64_t output_offset = 0;
  uint64_t output_bytes = 0;
};

class Play {
 public:
  explicit Play(Input input) : input_(input) {
    for (Object& object : Objects()) {
      object.Resize(kMostBytes);
    }
    keys_ = {Objects()[0].key(), Objects()[1].key(), Objects()[2].key(),
             Objects()[0].key().substr(1)};
  }

  ~Play() { regions_.Close(); }

  void Run() {
    while (!input_.is_over()) {
      switch (input_.Byte() % kStepCount) {
        case kRegister:
          Register();
          break;
        case kUnregister:
          Unregister();
          break;
        case kResize: {
          Object& object = Objects()[input_.Byte() % kObjects];
          object.Resize(input_.Byte() % (kMostBytes + 1));
          break;
        }
        case kRequest:
          Request();
          break;
        default:
          Reply();
      }
    }
    while (!under_way_.empty()) {
      Reply();
    }
    CheckCounts();
  }

 private:
  using ByName = std::map<std::string, Expected>;

  std::string Client() { return input_.Byte() % 2 == 0 ? "c" : "d"; }
  std::string Name() { return input_.Text(names_); }

  Object* ObjectOf(const std::string& key) {
    for (Object& object : Objects()) {
      if (key == object.key() || "/" + key == object.key()) {
        return &object;
      }
    }
    return nullptr;
  }

  void Register() {
    const std::string client = Client();
    const std::string name = Name();
    const std::string key = input_.Text(keys_);
    const uint64_t offset = input_.Number();
    const uint64_t bytes = input_.Number();
    Object* const object = ObjectOf(key);
    bool is_anothers = false;
    for (const auto& [owner, regions] : clients_) {
      for (const auto& [its_name, region] : regions) {
        is_anothers |= owner != client && region.object == object;
      }
    }
    const ByName& own = clients_[client];
    const SharedRegions::Counts held = regions_.counts();
    const bool is_right =
        !name.empty() && name.size() <= 255 && object != nullptr && bytes > 0 &&
        offset <= object->size() && bytes <= object->size() - offset &&
        !own.contains(name) && !is_anothers && own.size() < kBounds.of_client &&
        held.regions < kBounds.regions && held.bytes + bytes <= kBounds.bytes;
    const absl::Status status =
        regions_.Register(client, name, key, offset, bytes);
    Check(status.ok() == is_right, "a region is taken where it is right");
    if (is_right) {
      clients_[client][name] = {.object = object,
                                .offset = offset,
                                .bytes = bytes,
                                .uses = std::make_shared<int>(0)};
    }
  }

  void Unregister() {
    const std::string client = Client();
    const std::string name = Name();
    if (std::count_if(waits_.begin(), waits_.end(), [](const Wait& wait) {
          return wait.answers == 0;
        }) >= static_cast<int64_t>(kBounds.waiting)) {
      Check(absl::IsResourceExhausted(regions_.Unregister(
                client, name, [] { Check(false, "none is called"); })),
            "calls that wait are bounded");
      return;
    }
    ByName& own = clients_[client];
    for (auto at = own.begin(); at != own.end();) {
      if (name.empty() || at->first == name) {
        leaving_.emplace_back(std::pair(client, at->first), at->second.uses);
        at = own.erase(at);
      } else {
        ++at;
      }
    }
    std::vector<std::shared_ptr<int>> awaited;
    for (const auto& [of, uses] : leaving_) {
      if (of.first == client && (name.empty() || of.second == name)) {
        awaited.push_back(uses);
      }
    }
    waits_.push_back({.awaited = std::move(awaited)});
    int& answers = waits_.back().answers;
    Check(regions_.Unregister(client, name, [&answers] { ++answers; }).ok(),
          "what is asked for is forgotten");
    CheckWaits();
  }

  // Takes what says where a tensor is: 0 nothing, else a region.
  std::optional<std::string> Place(
      google::protobuf::Map<std::string, inference::InferParameter>& to,
      uint64_t& offset, uint64_t& bytes) {
    std::string name = Name();
    if (name.empty()) {
      return std::nullopt;
    }
    offset = input_.Number();
    bytes = input_.Number();
    to["shared_memory_region"].set_string_param(name);
    to["shared_memory_offset"].set_int64_param(static_cast<int64_t>(offset));
    to["shared_memory_byte_size"].set_int64_param(static_cast<int64_t>(bytes));
    return name;
  }

  // Returns the region of that name where the range lies in it.
  std::optional<Expected> Find(const std::string& client,
                               const std::string& name, uint64_t offset,
                               uint64_t bytes) {
    const ByName& own = clients_[client];
    const auto found = own.find(name);
    if (found == own.end() || offset > found->second.bytes ||
        bytes > found->second.bytes - offset) {
      return std::nullopt;
    }
    return found->second;
  }

  void Request() {
    const std::string client = Client();
    const size_t rows = 1 + input_.Byte() % kMostRows;
    UnderWay& one = under_way_.emplace_back();
    ModelInferRequest message;
    message.set_model_name(ModelName());
    auto& input = *message.add_inputs();
    input.set_name("a");
    input.set_datatype("FP32");
    input.add_shape(static_cast<int64_t>(rows));
    input.add_shape(3);
    uint64_t offset = 0;
    uint64_t bytes = 0;
    const auto from = Place(*input.mutable_parameters(), offset, bytes);
    if (!from.has_value()) {
      message.add_raw_input_contents(std::string(rows * kRowBytes, 'r'));
    }
    auto& output = *message.add_outputs();
    output.set_name("x");
    const auto to = Place(*output.mutable_parameters(), one.output_offset,
                          one.output_bytes);
    if (from.has_value()) {
      one.input = Find(client, *from, offset, bytes);
    }
    if (to.has_value()) {
      one.output = Find(client, *to, one.output_offset, one.output_bytes);
    }
    bool is_right = (!from.has_value() ||
                     (one.input.has_value() && bytes == rows * kRowBytes)) &&
                    (!to.has_value() || one.output.has_value());
    one.message = std::make_unique<MessageBytes>(message.SerializeAsString());
    const ModelView model = {ModelName(), Spec(), 1};
    const ClientRegions regions = {
        .regions = &regions_, .client = &client, .max_bytes = kMostBytes};
    absl::Status status = one.decoder.Parse(one.message->segments());
    status =
        status.ok() ? one.decoder.Bind(model, one.request, regions) : status;
    Check(status.ok() == is_right, "a request is taken where it is right");
    if (is_right && one.input.has_value()) {  // it may have been cut
      offset += one.input->offset;
      is_right = offset + bytes <= one.input->object->size();
      status = one.decoder.CopyRegions(model);
      Check(status.ok() == is_right, "what is there is read, and no more");
    }
    if (!is_right) {
      under_way_.pop_back();
      CheckWaits();
      return;
    }
    for (const auto& used : {one.input, one.output}) {
      if (used.has_value()) {
        ++*used->uses;
      }
    }
    if (one.input.has_value()) {
      Check(Joined(one.request.inputs[0].segments) ==
                one.input->object->pattern().substr(offset, bytes),
            "a request has the bytes of its range");
    }
  }

  void Reply() {
    if (under_way_.empty()) {
      return;
    }
    UnderWay& one = under_way_.front();
    const int rows = one.request.rows;
    HostOutputPool pool(1, kMostRows);
    const OutputRef output(pool.Take());
    HostOutputPool::Layout(*output.get(), 0, rows, DataType::kFp32, {3});
    const OutputTensor& tensor = output->tensors()[0];
    const size_t bytes = static_cast<size_t>(rows) * tensor.row_bytes;
    std::memset(tensor.data, 'x', bytes);
    const std::string version = "1";
    const absl::Status status =
        WriteToRegions({.model_name = ModelName(),
                        .model_version = version,
                        .id = one.decoder.id(),
                        .spec = Spec(),
                        .outputs = one.decoder.outputs(),
                        .regions = one.decoder.output_regions(),
                        .rows = {output.get(), 0, rows}});
    if (one.output.has_value()) {
      Object& object = *one.output->object;
      const uint64_t begin = one.output->offset + one.output_offset;
      const bool is_right =
          bytes <= one.output_bytes && begin + bytes <= object.size();
      Check(status.ok() == is_right, "a reply is written where it fits");
      std::string expected(object.pattern());
      if (is_right) {
        expected.replace(begin, bytes, bytes, 'x');
      }
      Check(object.Read() == expected, "a reply changes its range alone");
      object.Restore();
    } else {
      Check(status.ok(), "a reply of no region is not written");
    }
    for (const auto& used : {one.input, one.output}) {
      if (used.has_value()) {
        --*used->uses;
      }
    }
    under_way_.pop_front();
    CheckWaits();
  }

  // Each is answered once none of its regions is used.
  void CheckWaits() {
    std::erase_if(leaving_, [](const auto& one) { return *one.second == 0; });
    for (Wait& wait : waits_) {
      const bool is_used =
          std::any_of(wait.awaited.begin(), wait.awaited.end(),
                      [](const auto& uses) { return *uses > 0; });
      Check(wait.answers == 1 || (wait.answers == 0 && is_used),
            "unregister is answered once, when nothing uses the region");
      Check(wait.answers == 0 || !is_used, "and not before");
      if (wait.answers == 1) {
        wait.awaited.clear();
      }
    }
  }

  void CheckCounts() {
    size_t regions = 0;
    uint64_t bytes = 0;
    for (const auto& [client, own] : clients_) {
      regions += own.size();
      Check(regions_.All(client).size() == own.size(), "all are told");
      for (const auto& [name, region] : own) {
        bytes += region.bytes;
      }
    }
    Check(regions_.counts().regions == regions, "regions are counted");
    Check(regions_.counts().bytes == bytes, "their bytes are counted");
  }

  struct Wait {
    std::vector<std::shared_ptr<int>> awaited;
    int answers = 0;
  };

  const std::vector<std::string> names_ = {"", "r", "s", "t"};
  std::vector<std::string> keys_;
  Input input_;
  std::map<std::string, ByName> clients_;
  std::vector<
      std::pair<std::pair<std::string, std::string>, std::shared_ptr<int>>>
      leaving_;
  std::list<Wait> waits_;
  SharedRegions regions_{kBounds};
  std::list<UnderWay> under_way_;
};

}  // namespace
}  // namespace ferry

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  std::atexit([] {
    for (const ferry::Object& object : ferry::Objects()) {
      shm_unlink(object.key().c_str());
    }
  });
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ferry::Play(ferry::Input({data, size})).Run();
  return 0;
}

// This library is a libcuda.so.1 without a device: what LibTorch and Ferry ask
// of the driver by themselves. The rest is a stub that make_stubs.py writes.
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

constexpr int kInvalidDevice = 101;  // CUDA_ERROR_INVALID_DEVICE

struct Uuid {
  char bytes[16];
};

// CUDA_VISIBLE_DEVICES holds one UUID here: "GPU-8-4-4-4-12" or "MIG-...".
Uuid VisibleUuid() {
  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  std::string digits;
  for (const char c : std::string(visible == nullptr ? "" : visible)) {
    if (c == ',') {
      break;
    }
    if (std::strchr("0123456789abcdef", c) != nullptr) {
      digits += c;  // of the prefix there is none
    }
  }
  digits.resize(2 * sizeof(Uuid), '0');
  Uuid uuid = {};
  for (size_t i = 0; i < sizeof(uuid.bytes); ++i) {
    uuid.bytes[i] = static_cast<char>(
        std::strtoul(digits.substr(2 * i, 2).c_str(), nullptr, 16));
  }
  return uuid;
}

}  // namespace

extern "C" {

int cuInit(unsigned int /*flags*/) { return 0; }

int cuDeviceGet(int* device, int index) {
  *device = index;
  return index == 0 ? 0 : kInvalidDevice;
}

int cuDeviceGetUuid(Uuid* uuid, int /*device*/) {
  *uuid = VisibleUuid();
  return 0;
}

int cuDevicePrimaryCtxGetState(int /*device*/, unsigned int* flags,
                               int* is_active) {
  *flags = 0;
  *is_active = 1;
  return 0;
}

int cuGetErrorString(int /*error*/, const char** text) {
  *text = "an error of the fake driver";
  return 0;
}

}  // extern "C"

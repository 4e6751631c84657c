// Implements EndpointLoad: writes two fields of the message.
#include "server/grpc/endpoint_load.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace ferry {
namespace {

// Field number and the wire type of a double.
constexpr char Key(int field) { return static_cast<char>(field << 3 | 1); }

constexpr char kRpsFractional = Key(6);
constexpr char kApplicationUtilization = Key(9);

static_assert(std::endian::native == std::endian::little);

void AppendDouble(char key, double value, std::string& to) {
  char bytes[sizeof(value)];
  std::memcpy(bytes, &value, sizeof(value));
  to += key;
  to.append(bytes, sizeof(bytes));
}

}  // namespace

std::string EndpointLoad::Trailer() const {
  const ServerLoad load = load_.Load();
  std::string message;
  if (std::isfinite(load.ratio)) {
    AppendDouble(kRpsFractional, load.rows_per_second, message);
    AppendDouble(kApplicationUtilization, load.ratio, message);
  }
  return message;
}

}  // namespace ferry

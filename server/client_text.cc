// Cutting and joining.
#include "server/client_text.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace ferry {
namespace {

constexpr size_t kMaxShown = 128;     // bytes
constexpr size_t kMaxShownDims = 16;  // more are no shape of any model

}  // namespace

std::string Shown(const std::string& from_client) {
  if (from_client.size() <= kMaxShown) {
    return from_client;
  }
  size_t end = kMaxShown;  // not within a UTF-8 character
  while (end > 0 && (static_cast<uint8_t>(from_client[end]) & 0xc0) == 0x80) {
    --end;
  }
  return absl::StrCat(from_client.substr(0, end), "...");
}

std::string ShownShape(absl::Span<const int64_t> dims) {
  const bool is_cut = dims.size() > kMaxShownDims;
  return absl::StrCat("[", absl::StrJoin(dims.subspan(0, kMaxShownDims), ","),
                      is_cut ? ",...]" : "]");
}

std::string ShownSpec(const ModelSpec& model, const TensorSpec& tensor) {
  std::vector<int64_t> dims = tensor.dims;
  if (model.max_batch_size > 0) {
    dims.insert(dims.begin(), kAnySize);
  }
  return ShownShape(dims);
}

}  // namespace ferry

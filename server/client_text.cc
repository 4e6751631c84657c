// Implements the texts of client_text.h: cuts long ones and joins shapes.
#include "server/client_text.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/printable_text.h"

namespace ferry {
namespace {

constexpr size_t kMaxShown = 128;     // bytes
constexpr size_t kMaxShownDims = 16;  // more are no shape of any model

}  // namespace

std::string Shown(const std::string& from_client) {
  return PrintableText(from_client, kMaxShown);
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

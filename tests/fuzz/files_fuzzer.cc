// files_fuzzer fuzzes the readers of files that come with a model, a payload or
// a plan: the input is a file of weights (.safetensors), to the next reader one
// of labels, then a manifest, an array of NumPy (.npy), a file of prices, and
// the name of a model.
//
// What must hold, beside that nothing is read or written where it may not be:
//   1. The tensors of an open file are, one after the other, all of its bytes
//      behind the header, each as many as its type and shape need.
//   2. Labels are the lines, without white space around them.
//   3. A manifest gives digests by paths that are normal and lead to a file in
//      the folder; what it gives, written as lines, is read as the same.
//   4. The elements of an array are the end of its file, those of BF16 as many
//      as fit into it; no size of its shape is negative.
//   5. Each price is above 0, and is found by its device, provider, region,
//      kind and term.
//   6. A name of a model names a folder in the repository, and no other place.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/check.h"
#include "base/checked_math.h"
#include "bench/client/payload.h"
#include "bench/plan/price_file.h"
#include "models/config/label_file.h"
#include "models/files/safetensors.h"
#include "models/repository/manifest_text.h"
#include "models/repository/repository_folder.h"

namespace ferry {
namespace {

// A file in memory, of other contents each time.
class File {
 public:
  File()
      : descriptor_(memfd_create("input", MFD_CLOEXEC)),
        path_(absl::StrCat("/proc/self/fd/", descriptor_)) {}

  const std::string& path() const { return path_; }

  void Write(const std::string& bytes) {
    Check(ftruncate(descriptor_, 0) == 0 &&
              pwrite(descriptor_, bytes.data(), bytes.size(), 0) ==
                  static_cast<ssize_t>(bytes.size()),
          "the file is written");
  }

 private:
  const int descriptor_;
  const std::string path_;
};

void CheckTensors(const SafetensorsFile& file, const std::string& bytes) {
  uint64_t header_bytes = 0;
  Check(bytes.size() >= sizeof(header_bytes), "a file has a header");
  bytes.copy(reinterpret_cast<char*>(&header_bytes), sizeof(header_bytes));
  std::string data;
  for (const SafetensorsTensor& tensor : file.tensors()) {
    const std::optional<int64_t> elements = ElementCount(tensor.shape);
    Check(elements.has_value(), "elements can be counted");
    Check(tensor.size ==
              static_cast<size_t>(*elements) * ElementSize(tensor.type),
          "as many bytes as the shape says");
    std::string read(tensor.size, '\0');
    Check(file.Read(tensor,
                    {reinterpret_cast<std::byte*>(read.data()), read.size()})
              .ok(),
          "a tensor can be read");
    data.append(read);
    const SafetensorsTensor* const found = file.Find(tensor.name);
    Check(found == &tensor, "a tensor is found by its name");
  }
  Check(data == bytes.substr(sizeof(header_bytes) + header_bytes),
        "tensors are all of the data");
}

void CheckLabels(const std::vector<std::string>& labels,
                 const std::string& bytes) {
  std::vector<std::string> lines = absl::StrSplit(bytes, '\n');
  if (lines.back().empty()) {
    lines.pop_back();
  }
  Check(lines.size() == labels.size(), "a label a line");
  for (size_t i = 0; i < lines.size(); ++i) {
    Check(labels[i] == absl::StripAsciiWhitespace(lines[i]),
          "labels are the lines");
  }
}

void CheckDigests(const Digests& digests) {
  std::string text;
  for (const auto& [name, digest] : digests) {
    const std::filesystem::path path(name);
    Check(path.is_relative() && path.has_filename() &&
              path == path.lexically_normal() && *path.begin() != ".." &&
              *path.begin() != "." && name.find('\0') == std::string::npos,
          "a path is normal, and in the folder");
    Check(digest.size() == 64 &&
              digest.find_first_not_of("0123456789abcdef") == std::string::npos,
          "a digest is one");
    absl::StrAppend(&text, digest, "  ", name, "\n");
  }
  const absl::StatusOr<Digests> again = ParseManifest(text);
  Check(again.ok() && *again == digests, "what was read can be read");
}

void CheckArray(const std::string& bytes, DataType type) {
  const auto array = bench::ParseNpy(bytes, type);
  if (!array.ok()) {
    Check(absl::IsInvalidArgument(array.status()), "an array is refused");
    return;
  }
  Check(array->shape.has_value(), "an array has a shape");
  Check(std::all_of(array->shape->begin(), array->shape->end(),
                    [](int64_t dim) { return dim >= 0; }),
        "sizes are none below 0");
  if (type == DataType::kBf16) {
    Check(array->bytes.size() <= bytes.size() / 2, "FP32 is cut to its half");
  } else {
    Check(absl::EndsWith(bytes, array->bytes), "elements end the file");
  }
}

void CheckPrices(const std::string& bytes) {
  const auto prices = plan::ParsePrices(bytes, "prices");
  if (!prices.ok()) {
    Check(absl::IsInvalidArgument(prices.status()), "prices are refused");
    return;
  }
  Check(!prices->rows.empty(), "a file has a price");
  for (const plan::PriceRow& row : prices->rows) {
    const double price = plan::DevicePerHour(row);
    Check(price > 0 && std::isfinite(price), "a price is one");
    const auto found = plan::FindPrice(*prices, {.device = row.device,
                                                 .kind = row.kind,
                                                 .region = row.region,
                                                 .term_hours = row.term_hours,
                                                 .provider = row.provider});
    Check(found.ok() && plan::DevicePerHour(*found) == price,
          "a price is found");
  }
  Check(plan::AgeWarning(*prices, "2026-01-31").ok(), "its day is a day");
}

void CheckName(const std::string& name) {
  const absl::Status status = CheckModelName(name);
  if (!status.ok()) {
    Check(absl::IsInvalidArgument(status), "a name is refused");
    return;
  }
  const std::filesystem::path repository = "/models";
  const auto folder = (repository / name).lexically_normal();
  Check(folder.parent_path() == repository && folder.filename() == name,
        "a name names a folder in the repository");
}

void CheckFile(const std::string& bytes) {
  static auto* const file = new File();
  file->Write(bytes);
  const auto tensors = SafetensorsFile::Open(file->path());
  if (tensors.ok()) {
    CheckTensors(**tensors, bytes);
  } else {
    Check(absl::IsInvalidArgument(tensors.status()), "a file is refused");
  }
  const auto labels = ReadLabels(file->path());
  Check(labels.ok() == !bytes.empty(), "labels are any bytes");
  if (labels.ok()) {
    CheckLabels(*labels, bytes);
  }
  const absl::StatusOr<Digests> digests = ParseManifest(bytes);
  if (digests.ok()) {
    CheckDigests(*digests);
  } else {
    Check(absl::IsInvalidArgument(digests.status()), "a manifest is refused");
  }
  for (const DataType type :
       {DataType::kFp32, DataType::kBf16, DataType::kInt64, DataType::kBytes}) {
    CheckArray(bytes, type);
  }
  CheckPrices(bytes);
  CheckName(bytes);
}

}  // namespace
}  // namespace ferry

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ferry::CheckFile(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}

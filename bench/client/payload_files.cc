// Implements ReadPayload(): reads files and folders on the disk.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "bench/client/payload.h"
#include "tensor/bytes_elements.h"

namespace ferry::bench {
namespace {

namespace fs = std::filesystem;

constexpr char kNpy[] = ".npy";
constexpr uintmax_t kMostBytes = uintmax_t{4} << 30;

// Reads files, as many bytes as are allowed in all.
class Reader {
 public:
  absl::StatusOr<std::string> Read(const fs::path& path) {
    std::error_code error;
    const uintmax_t size = fs::file_size(path, error);
    std::ifstream file(path, std::ios::binary);
    if (error || !file) {
      return absl::NotFoundError(absl::StrCat(
          "cannot read ", path.string(), ": ",
          error ? error.message() : std::string(std::strerror(errno))));
    }
    read_ += size;
    if (read_ > kMostBytes) {
      return absl::InvalidArgumentError(absl::StrCat(
          path.string(), ": expected 4 GiB of contents at most, found more"));
    }
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }

 private:
  uintmax_t read_ = 0;
};

// Sorted by name; without those that begin with a dot.
std::vector<fs::path> EntriesOf(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (!absl::StartsWith(entry.path().filename().string(), ".")) {
      entries.push_back(entry.path());
    }
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

absl::StatusOr<InputContents> Contents(const InputSpec& input,
                                       const fs::path& path, Reader& reader) {
  auto text = reader.Read(path);
  if (!text.ok()) {
    return text.status();
  }
  if (path.extension() == kNpy && path.filename() != input.name) {
    auto read = ParseNpy(*text, input.type);
    return read.ok() ? read
                     : absl::InvalidArgumentError(absl::StrCat(
                           path.string(), ": ", read.status().message()));
  }
  InputContents contents;
  if (input.type != DataType::kBytes) {
    contents.bytes = *std::move(text);
    return contents;
  }
  for (absl::string_view line :
       absl::StrSplit(absl::StripSuffix(*text, "\n"), '\n')) {
    AppendBytesElement({line.data(), line.size()}, contents.bytes);
  }
  return contents;
}

// A folder with a file for each input.
absl::Status ReadFolder(const fs::path& folder,
                        const std::vector<InputSpec>& inputs,
                        const std::vector<std::string>& outputs, Reader& reader,
                        std::vector<Sample>& samples) {
  std::set<std::string> names;
  for (const fs::path& path : EntriesOf(folder)) {
    names.insert(path.filename().string());
  }
  std::map<std::string, InputContents> contents;
  for (const InputSpec& input : inputs) {
    for (const std::string& name : {input.name, input.name + kNpy}) {
      if (names.erase(name) == 0) {
        continue;
      }
      if (contents.count(input.name) > 0) {
        return absl::InvalidArgumentError(
            absl::StrCat(folder.string(), ": expected one file of input '",
                         input.name, "', found two, with and without .npy"));
      }
      auto read = Contents(input, folder / name, reader);
      if (!read.ok()) {
        return read.status();
      }
      contents[input.name] = *std::move(read);
    }
  }
  for (const std::string& output : outputs) {
    names.erase(output);
  }
  if (!names.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        folder.string(), ": expected files of the names of inputs, found '",
        absl::StrJoin(names, "', '"), "'"));
  }
  return AppendSamples(inputs, contents, folder.string(), samples);
}

}  // namespace

absl::StatusOr<std::vector<Sample>> ReadPayload(
    const std::string& path, const std::vector<InputSpec>& inputs,
    const std::vector<std::string>& outputs) {
  Reader reader;
  std::vector<Sample> samples;
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    const auto text = reader.Read(path);
    if (!text.ok()) {
      return text.status();
    }
    auto read = ParseJsonPayload(*text, path, inputs);
    if (!read.ok()) {
      return read.status();
    }
    samples = *std::move(read);
  } else {
    std::vector<fs::path> folders;
    for (const fs::path& entry : EntriesOf(path)) {
      if (fs::is_directory(entry, error)) {
        folders.push_back(entry);
      }
    }
    if (folders.empty()) {
      folders.push_back(path);
    } else if (folders.size() != EntriesOf(path).size()) {
      return absl::InvalidArgumentError(absl::StrCat(
          path,
          ": expected a file for each input or a folder for each sample, "
          "found both"));
    }
    for (const fs::path& folder : folders) {
      if (auto status = ReadFolder(folder, inputs, outputs, reader, samples);
          !status.ok()) {
        return status;
      }
    }
  }
  if (samples.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": expected at least one sample, found none"));
  }
  return samples;
}

}  // namespace ferry::bench

// Implements AddResultFile(): says what the system says of the file, or of a
// file in its folder where there is none.
#include "bench/report/writable_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace ferry::bench {
namespace {

// Returns what is in the way; "": nothing.
std::string WhyNot(const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    return "a folder";
  }
  if (std::filesystem::exists(path, error)) {
    return access(path.c_str(), W_OK) == 0 ? "" : "read-only";
  }
  const std::filesystem::path folder =
      path.has_parent_path() ? path.parent_path() : ".";
  if (!std::filesystem::is_directory(folder, error)) {
    return absl::StrCat("no folder ", folder.string());
  }
  std::string probe = folder / ".ferry-XXXXXX";
  const int file = mkstemp(probe.data());
  if (file < 0) {
    return absl::StrCat("no file can be made in ", folder.string(), " (",
                        std::strerror(errno), ")");
  }
  close(file);
  unlink(probe.c_str());
  return "";
}

}  // namespace

CLI::Validator WritableFile() {
  return CLI::Validator(
      [](const std::string& text) {
        const std::string why_not = WhyNot(text);
        return why_not.empty()
                   ? std::string()
                   : absl::StrCat("expected a file that can be written, got '",
                                  text, "': ", why_not);
      },
      "");
}

void AddResultFile(CLI::App& command, const char* name, std::string& path,
                   const char* help) {
  command.add_option(name, path, help)
      ->type_name("FILE")
      ->check(WritableFile());
}

}  // namespace ferry::bench

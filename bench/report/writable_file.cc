// Implements AddResultFile() and AddResultFolder(): says what the system says
// of the file, or of a file in its folder where there is none.
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

// Returns what keeps a new file from the folder; "": nothing.
std::string WhyNoneIn(const std::filesystem::path& folder) {
  std::error_code error;
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

std::filesystem::path FolderOf(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : ".";
}

// Returns what is in the way; "": nothing.
std::string WhyNot(const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    return "a folder";
  }
  if (std::filesystem::exists(path, error)) {
    return access(path.c_str(), W_OK) == 0 ? "" : "read-only";
  }
  return WhyNoneIn(FolderOf(path));
}

std::string WhyNotFolder(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    // "results/" is the folder of its parent, too.
    return WhyNoneIn(FolderOf(path.has_filename() ? path : path.parent_path()));
  }
  if (!std::filesystem::is_directory(path, error)) {
    return "a file";
  }
  const bool is_empty = std::filesystem::is_empty(path, error);
  if (error) {
    return error.message();
  }
  return is_empty ? WhyNoneIn(path) : "files are in it";
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

CLI::Validator NewFolder() {
  return CLI::Validator(
      [](const std::string& text) {
        const std::string why_not = WhyNotFolder(text);
        return why_not.empty()
                   ? std::string()
                   : absl::StrCat(
                         "expected a folder that is new or empty, got '", text,
                         "': ", why_not);
      },
      "");
}

void AddResultFolder(CLI::App& command, const char* name, std::string& path,
                     const char* help) {
  command.add_option(name, path, help)->type_name("FOLDER")->check(NewFolder());
}

}  // namespace ferry::bench

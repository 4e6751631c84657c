// TempFolder makes a folder of one test's own, and removes it at the end.
//
// Thread safety: thread-compatible.
#ifndef FERRY_TESTS_MODELS_TEMP_FOLDER_H_
#define FERRY_TESTS_MODELS_TEMP_FOLDER_H_

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace ferry {

class TempFolder {
 public:
  TempFolder() {
    std::string path =
        (std::filesystem::temp_directory_path() / "ferry_test_XXXXXX").string();
    path_ = mkdtemp(path.data());
  }
  ~TempFolder() { std::filesystem::remove_all(path_); }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string path(const std::string& name) const { return path_ + "/" + name; }

  // Writes a file, making its folders, and returns its path.
  std::string Write(const std::string& name,
                    const std::string& contents) const {
    const std::filesystem::path file = path(name);
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << contents;
    return file.string();
  }

 private:
  std::string path_;
};

}  // namespace ferry

#endif  // FERRY_TESTS_MODELS_TEMP_FOLDER_H_

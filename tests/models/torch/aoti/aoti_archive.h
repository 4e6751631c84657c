// AotiArchive writes a .pt2 file of the parts that a test gives it.
//
// Thread safety: one thread.
#ifndef FERRY_TESTS_MODELS_TORCH_AOTI_AOTI_ARCHIVE_H_
#define FERRY_TESTS_MODELS_TORCH_AOTI_AOTI_ARCHIVE_H_

#include <caffe2/serialize/inline_container.h>

#include <map>
#include <string>
#include <utility>

namespace ferry {

struct AotiArchive {
  static constexpr char kModel[] = "data/aotinductor/model/";

  std::string metadata =
      R"({"AOTI_DEVICE_KEY": "cpu", "AOTI_PLATFORM": "linux",
          "AOTI_MACHINE": "x86_64", "AOTI_CPU_ISA": "AVX2"})";
  std::string source =
      "inputs_info_[0].name = \"x\";\n"
      "int32_t x_expected_dtype = aoti_torch_dtype_float32();\n"
      "if (3 != x_size[1]) {\n";
  std::map<std::string, std::string> others;  // record, contents

  std::string Write(const std::string& path) const {
    std::map<std::string, std::string> records = others;
    if (!metadata.empty()) {
      records[std::string(kModel) + "w_metadata.json"] = metadata;
    }
    if (!source.empty()) {
      records[std::string(kModel) + "w.cpp"] = source;
    }
    caffe2::serialize::PyTorchStreamWriter writer(path);
    for (const auto& [name, contents] : records) {
      writer.writeRecord(name, contents.data(), contents.size());
    }
    writer.writeEndOfFile();
    return path;
  }
};

}  // namespace ferry

#endif  // FERRY_TESTS_MODELS_TORCH_AOTI_AOTI_ARCHIVE_H_

// Tests that a library is unloaded once its unique symbol is a weak one, and
// that one that was cut is found before it is opened.
#include "models/torch/aoti/elf_library.h"

#include <dlfcn.h>

#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/models/temp_folder.h"

namespace ferry {
namespace {

std::string ReadLibrary() {
  std::ifstream file(FERRY_UNIQUE_LIBRARY, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

absl::Span<const std::byte> Bytes(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

void Weaken(std::string& bytes) {
  WeakenUniqueSymbols(
      {reinterpret_cast<std::byte*>(bytes.data()), bytes.size()});
}

bool IsMapped(const std::string& path) {
  std::ifstream maps("/proc/self/maps");
  const std::string all(std::istreambuf_iterator<char>(maps), {});
  return all.find(path) != std::string::npos;
}

// Opens the library, calls it, and closes it.
void Use(const std::string& path) {
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  const auto count =
      reinterpret_cast<int (*)()>(dlsym(library, "FerryTestCount"));
  ASSERT_NE(count, nullptr) << dlerror();
  EXPECT_EQ(count(), 1) << "the counter of another copy";
  EXPECT_TRUE(IsMapped(path));
  dlclose(library);
}

TEST(UniqueSymbolsTest, LibraryIsUnloadedOnceTheyAreWeak) {
  const TempFolder folder;
  std::string bytes = ReadLibrary();
  const std::string as_built = folder.Write("built.so", bytes);
  Weaken(bytes);
  const std::string weakened = folder.Write("weak.so", bytes);
  Use(weakened);
  EXPECT_FALSE(IsMapped(weakened));
  Use(as_built);
  EXPECT_TRUE(IsMapped(as_built)) << "there is nothing to do";
}

TEST(UniqueSymbolsTest, WhatIsNoWholeLibraryIsLeftAlone) {
  const std::string whole = ReadLibrary();
  for (size_t size : {size_t{0}, size_t{3}, size_t{63}, size_t{64},
                      whole.size() / 2, whole.size() - 1}) {
    std::string cut = whole.substr(0, size);
    Weaken(cut);
    EXPECT_EQ(cut.size(), size);
  }
  std::string text =
      "no library, but longer than the header of one, which is "
      "of 64 bytes";
  const std::string before = text;
  Weaken(text);
  EXPECT_EQ(text, before);
}

// The loader would map the rest, and the first touch of it is a SIGBUS.
TEST(ElfLibraryTest, LibraryThatIsCutIsFound) {
  const std::string whole = ReadLibrary();
  EXPECT_TRUE(CheckIsWhole(Bytes(whole)).ok());
  for (const size_t size : {size_t{64}, size_t{100}, size_t{4096},
                            whole.size() / 2, whole.size() - 1}) {
    const absl::Status status = CheckIsWhole(Bytes(whole.substr(0, size)));
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << size;
    EXPECT_THAT(std::string(status.message()),
                testing::HasSubstr("its library is cut"));
  }
  for (const char* text : {"", "no library",
                           "\x7f"
                           "ELF"}) {
    EXPECT_TRUE(CheckIsWhole(Bytes(text)).ok()) << "the loader refuses it";
  }
}

TEST(ElfLibraryTest, SizesNearTheLargestNumberAreTakenForCut) {
  std::string bytes = ReadLibrary();
  bytes.replace(40, 8, std::string(8, '\xff'));  // where sections begin
  EXPECT_FALSE(CheckIsWhole(Bytes(bytes)).ok());
}

}  // namespace
}  // namespace ferry

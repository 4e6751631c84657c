// Implements what looks at ELF files: by their headers, and by names of
// symbols.
#include "models/torch/aoti/elf_library.h"

#include <elf.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace ferry {
namespace {

// Reads a value that may stand at any address; empty past the end.
template <typename T>
std::optional<T> ReadAt(absl::Span<const std::byte> bytes, uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) {
    return std::nullopt;
  }
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

// GCC's and Clang's.
constexpr absl::string_view kRegionStarters[] = {"GOMP_parallel",
                                                 "__kmpc_fork_call"};

bool IsElf(const Elf64_Ehdr& header) {
  constexpr unsigned char kOrder =
      std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
         header.e_ident[EI_CLASS] == ELFCLASS64 &&
         header.e_ident[EI_DATA] == kOrder;
}

// Returns the end of what the headers list, at most 2^64 - 1.
uint64_t ListedEnd(const Elf64_Ehdr& header,
                   absl::Span<const std::byte> library) {
  uint64_t end = header.e_phoff;
  const auto reach = [&end](uint64_t offset, uint64_t size) {
    end = std::max(end, offset + std::min(size, ~offset));
  };
  reach(header.e_phoff, header.e_phnum * sizeof(Elf64_Phdr));
  reach(header.e_shoff, header.e_shnum * sizeof(Elf64_Shdr));
  for (uint64_t i = 0; i < header.e_phnum; ++i) {
    const std::optional<Elf64_Phdr> segment =
        ReadAt<Elf64_Phdr>(library, header.e_phoff + i * sizeof(Elf64_Phdr));
    if (segment.has_value()) {
      reach(segment->p_offset, segment->p_filesz);
    }
  }
  return end;
}

void WeakenTable(const Elf64_Shdr& table, absl::Span<std::byte> library) {
  for (uint64_t i = 0; i < table.sh_size / sizeof(Elf64_Sym); ++i) {
    const uint64_t offset = table.sh_offset + i * sizeof(Elf64_Sym);
    std::optional<Elf64_Sym> symbol = ReadAt<Elf64_Sym>(library, offset);
    if (!symbol.has_value()) {
      return;
    }
    if (ELF64_ST_BIND(symbol->st_info) == STB_GNU_UNIQUE) {
      symbol->st_info = static_cast<unsigned char>(
          STB_WEAK << 4 | ELF64_ST_TYPE(symbol->st_info));
      std::memcpy(library.data() + offset, &*symbol, sizeof(*symbol));
    }
  }
}

}  // namespace

absl::Status CheckIsWhole(absl::Span<const std::byte> library) {
  const std::optional<Elf64_Ehdr> header = ReadAt<Elf64_Ehdr>(library, 0);
  if (!header.has_value() || !IsElf(*header)) {
    return absl::OkStatus();
  }
  const uint64_t end = ListedEnd(*header, library);
  return end <= library.size() ? absl::OkStatus()
                               : absl::InvalidArgumentError(absl::StrCat(
                                     "its library is cut: expected at least ",
                                     end, " bytes, got ", library.size(),
                                     ": copy or compile it anew"));
}

void WeakenUniqueSymbols(absl::Span<std::byte> library) {
  const std::optional<Elf64_Ehdr> header = ReadAt<Elf64_Ehdr>(library, 0);
  if (!header.has_value() || !IsElf(*header)) {
    return;
  }
  for (uint64_t i = 0; i < header->e_shnum; ++i) {
    const std::optional<Elf64_Shdr> section =
        ReadAt<Elf64_Shdr>(library, header->e_shoff + i * sizeof(Elf64_Shdr));
    if (!section.has_value()) {
      return;
    }
    if (section->sh_type == SHT_DYNSYM) {
      WeakenTable(*section, library);
    }
  }
}

bool HasParallelRegions(absl::Span<const std::byte> library) {
  const absl::string_view bytes(reinterpret_cast<const char*>(library.data()),
                                library.size());
  return std::any_of(std::begin(kRegionStarters), std::end(kRegionStarters),
                     [&bytes](absl::string_view name) {
                       return absl::StrContains(bytes, name);
                     });
}

}  // namespace ferry

// Implements WeakenUniqueSymbols: finds dynamic symbols by the section headers.
#include "models/torch/aoti/unique_symbols.h"

#include <elf.h>

#include <bit>
#include <cstring>
#include <optional>

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

bool IsElf(const Elf64_Ehdr& header) {
  constexpr unsigned char kOrder =
      std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
         header.e_ident[EI_CLASS] == ELFCLASS64 &&
         header.e_ident[EI_DATA] == kOrder;
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

}  // namespace ferry

#include "daemon/ingest/ncu/cubin_file.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <optional>

namespace kprof {
namespace {

template <typename T>
std::optional<T> ReadStruct(std::string_view bytes, uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

std::string_view TextAt(std::string_view texts, uint64_t offset) {
  if (offset >= texts.size()) return {};
  const std::string_view rest = texts.substr(offset);
  return rest.substr(0, rest.find('\0'));
}

std::string_view PartOf(std::string_view bytes, uint64_t offset, uint64_t size) {
  if (offset > bytes.size() || bytes.size() - offset < size) return {};
  return bytes.substr(offset, size);
}

}  // namespace

std::vector<CubinSection> ReadCubinSections(std::string_view file) {
  std::vector<CubinSection> sections;
  const std::optional<Elf64_Ehdr> head = ReadStruct<Elf64_Ehdr>(file, 0);
  if (!head || std::memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 || head->e_ident[EI_CLASS] != ELFCLASS64 ||
      head->e_ident[EI_DATA] != ELFDATA2LSB || head->e_shentsize != sizeof(Elf64_Shdr)) {
    return sections;
  }
  uint64_t count = head->e_shnum;
  uint64_t names_at = head->e_shstrndx;
  if (const std::optional<Elf64_Shdr> first = ReadStruct<Elf64_Shdr>(file, head->e_shoff)) {
    // More than 16 bits hold: the first section has the numbers.
    if (count == 0) count = first->sh_size;
    if (names_at == SHN_XINDEX) names_at = first->sh_link;
  }
  std::vector<uint32_t> names;
  for (uint64_t i = 0; i < std::min<uint64_t>(count, kMostCubinSections); ++i) {
    const std::optional<Elf64_Shdr> section = ReadStruct<Elf64_Shdr>(file, head->e_shoff + i * sizeof(Elf64_Shdr));
    if (!section) break;
    const bool has_bytes = section->sh_type != SHT_NOBITS;
    sections.push_back({.name = {},
                        .type = section->sh_type,
                        .link = section->sh_link,
                        .info = section->sh_info,
                        .bytes = has_bytes ? PartOf(file, section->sh_offset, section->sh_size) : std::string_view()});
    names.push_back(section->sh_name);
  }
  const std::string_view texts = names_at < sections.size() ? sections[names_at].bytes : std::string_view();
  for (size_t i = 0; i < sections.size(); ++i) sections[i].name = TextAt(texts, names[i]);
  return sections;
}

const CubinSection* FindCubinSection(const std::vector<CubinSection>& sections, std::string_view name) {
  for (const CubinSection& section : sections) {
    if (section.name == name) return &section;
  }
  return nullptr;
}

std::vector<CubinRelocation> ReadCubinRelocations(const std::vector<CubinSection>& sections,
                                                  std::string_view of_section) {
  std::vector<CubinRelocation> relocations;
  for (const CubinSection& section : sections) {
    const bool has_addends = section.type == SHT_RELA;
    if (!has_addends && section.type != SHT_REL) continue;
    if (section.info >= sections.size() || sections[section.info].name != of_section) continue;
    const std::string_view symbols = section.link < sections.size() ? sections[section.link].bytes : std::string_view();
    const size_t size = has_addends ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
    for (size_t at = 0; at + size <= section.bytes.size() && relocations.size() < kMostCubinRelocations; at += size) {
      Elf64_Rela of{};
      std::memcpy(&of, section.bytes.data() + at, size);
      const std::optional<Elf64_Sym> symbol =
          ReadStruct<Elf64_Sym>(symbols, uint64_t{ELF64_R_SYM(of.r_info)} * sizeof(Elf64_Sym));
      if (!symbol) continue;
      relocations.push_back({of.r_offset, symbol->st_shndx, symbol->st_value, has_addends ? of.r_addend : 0});
    }
  }
  std::sort(relocations.begin(), relocations.end(),
            [](const CubinRelocation& a, const CubinRelocation& b) { return a.offset < b.offset; });
  return relocations;
}

}  // namespace kprof

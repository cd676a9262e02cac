// A cubin: an ELF file with the machine code of kernels, and what it says of the lines that the code comes from.
//
// Pure; any thread. The bytes may be anything: sections that are not whole are not there.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace kprof {

struct CubinSection {
  std::string_view name;  // ".text._Z4copyPf"
  uint32_t type = 0;
  uint32_t link = 0;  // the number of a section that belongs to it
  uint32_t info = 0;
  std::string_view bytes;
};

// The sections by their numbers, at most kMostCubinSections. Empty: it is no ELF file of 64 bits that we can read.
constexpr size_t kMostCubinSections = 65'536;
std::vector<CubinSection> ReadCubinSections(std::string_view file);

// Null: there is none of that name.
const CubinSection* FindCubinSection(const std::vector<CubinSection>& sections, std::string_view name);

// A place in a section where the address of a symbol is put in.
struct CubinRelocation {
  uint64_t offset = 0;   // in the section
  uint32_t section = 0;  // that the symbol lies in
  uint64_t value = 0;    // of the symbol, within its section
  int64_t addend = 0;
};

// The relocations of a section, at most kMostCubinRelocations, by their offsets.
constexpr size_t kMostCubinRelocations = 1 << 20;
std::vector<CubinRelocation> ReadCubinRelocations(const std::vector<CubinSection>& sections,
                                                  std::string_view of_section);

}  // namespace kprof

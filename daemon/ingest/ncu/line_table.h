// The table of lines of machine code, as DWARF keeps it (.debug_line): from the addresses of instructions to the lines
// of files. NVIDIA's compilers write one for the program's source (.debug_line) and one for its PTX
// (.nv_debug_line_sass). https://dwarfstd.org
//
// Pure; any thread. The bytes may be anything: a unit that is broken ends there, with the rows that it had.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/ingest/ncu/cubin_file.h"

namespace kprof {

struct LineRow {
  uint32_t section = 0;  // of code; 0: nobody says which
  uint64_t offset = 0;   // of the first instruction, in it
  uint32_t file = 0;     // its number in LineTable
  uint32_t line = 0;     // from 1; 0: none
  bool ends = false;     // the code before ends here
};

struct LineTable {
  std::vector<std::string> files;  // 0: it is not known
  std::vector<LineRow> rows;       // by section and offset
};

constexpr size_t kMostLineRows = 4 << 20;
constexpr size_t kMostLineFiles = 16'384;

// Reads the units of DWARF 2 to 5 in the section of that name.
LineTable ReadLineTable(const std::vector<CubinSection>& sections, std::string_view name);

// The row that an instruction belongs to; null: none does.
const LineRow* FindLine(const LineTable& table, uint32_t section, uint64_t offset);

}  // namespace kprof

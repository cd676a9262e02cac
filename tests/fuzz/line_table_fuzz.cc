// A cubin as no compiler would write it. Behind one byte, whose value decides: an ELF file, or (1) the content of the
// section .debug_line alone, which is reached more often so.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "daemon/ingest/ncu/line_table.h"
#include "storage/base/status.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kprof;
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::vector<CubinSection> sections = ReadCubinSections(bytes);
  if (data[0] == 1)
    sections = {{.name = ""}, {.name = ".text.f", .bytes = bytes}, {.name = ".debug_line", .bytes = bytes}};
  for (const char* name : {".debug_line", ".nv_debug_line_sass"}) {
    const LineTable table = ReadLineTable(sections, name);
    for (const LineRow& row : table.rows) {
      KPROF_CHECK(row.file < table.files.size());
      const LineRow* found = FindLine(table, row.section, row.offset);
      KPROF_CHECK(found == nullptr || (found->section == row.section && found->offset == row.offset));
    }
  }
  return 0;
}

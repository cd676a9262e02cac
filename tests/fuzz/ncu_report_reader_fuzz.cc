// A report of Nsight Compute as no tool would write it.
#include <cstddef>
#include <cstdint>
#include <string>

#include "daemon/ingest/ncu/ncu_report_reader.h"
#include "tests/fakes/ingest/batch_texts.h"
#include "tests/fakes/ingest/memory_text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kprof;
  const std::string source(reinterpret_cast<const char*>(data), size);
  const bool looks = LooksLikeNcuReport(source);
  MemoryText text(source);
  BatchTexts texts;
  const Status status =
      ReadNcuReport(text, texts, {.entry_bytes = 1 << 16, .names_bytes = 1 << 16, .source_bytes = 1 << 18});
  KPROF_CHECK(!text.read_released && texts.rows.empty());
  KPROF_CHECK(looks || !status.ok());
  if (status.ok()) KPROF_CHECK(texts.events == static_cast<int64_t>(texts.side_rows.size()));
  return 0;
}

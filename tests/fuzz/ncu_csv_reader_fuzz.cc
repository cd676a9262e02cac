// CSV of Nsight Compute as no tool would print it.
#include <cstddef>
#include <cstdint>
#include <string>

#include "daemon/ingest/ncu/ncu_csv_reader.h"
#include "tests/fakes/ingest/batch_texts.h"
#include "tests/fakes/ingest/memory_text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kprof;
  const std::string source(reinterpret_cast<const char*>(data), size);
  (void)LooksLikeNcuCsv(source);
  MemoryText text(source);
  BatchTexts texts;
  const Status status = ReadNcuCsv(text, texts, 1 << 16);
  KPROF_CHECK(!text.read_released && texts.rows.empty());
  if (status.ok()) KPROF_CHECK(texts.events == static_cast<int64_t>(texts.side_rows.size()));
  return 0;
}

// A log of NCCL Inspector as no job would write it.
#include <cstddef>
#include <cstdint>
#include <string>

#include "daemon/ingest/nccl/inspector_reader.h"
#include "tests/fakes/ingest/batch_texts.h"
#include "tests/fakes/ingest/memory_text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kprof;
  const std::string source(reinterpret_cast<const char*>(data), size);
  (void)LooksLikeNcclInspector(source);
  MemoryText text(source);
  BatchTexts texts;
  const Status status = ReadNcclInspector(text, texts, 1 << 16);
  KPROF_CHECK(!text.read_released);
  KPROF_CHECK(status.ok() == !texts.rows.empty());
  if (status.ok()) KPROF_CHECK(texts.events == static_cast<int64_t>(texts.rows.size()));
  return 0;
}

// A profile of Scalene as no tool would write it.
#include <cstddef>
#include <cstdint>
#include <string>

#include "daemon/ingest/scalene/scalene_reader.h"
#include "tests/fakes/ingest/batch_texts.h"
#include "tests/fakes/ingest/memory_text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kprof;
  const std::string source(reinterpret_cast<const char*>(data), size);
  (void)LooksLikeScalene(source);
  MemoryText text(source);
  BatchTexts texts;
  const Status status = ReadScalene(text, texts, 1 << 20);
  KPROF_CHECK(!text.read_released && texts.rows.empty());
  if (status.ok()) KPROF_CHECK(texts.events == static_cast<int64_t>(texts.side_rows.size()));
  return 0;
}

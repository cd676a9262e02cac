// A Perfetto trace as no tool would write it.
#include <cstddef>
#include <cstdint>
#include <string>

#include "daemon/ingest/perfetto/perfetto_reader.h"
#include "tests/fakes/ingest/batch_texts.h"
#include "tests/fakes/ingest/memory_text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kprof;
  const std::string source(reinterpret_cast<const char*>(data), size);
  (void)LooksLikePerfetto(source);
  PerfettoLimits limits;
  limits.packets = {.packet_bytes = 1 << 16, .unpacked_bytes = 1 << 20};
  limits.survey = {.tracks = 1 << 10, .bytes = 1 << 16, .flows = 16};
  MemoryText first(source);
  MemoryText text(source);
  BatchTexts texts;
  const Status status = ReadPerfetto(&first, text, texts, limits);
  KPROF_CHECK(!text.read_released && !first.read_released);
  // A look reads the text itself twice, and finds the same.
  MemoryText kept(source);
  BatchTexts again;
  KPROF_CHECK(ReadPerfetto(nullptr, kept, again, limits).ok() == status.ok());
  KPROF_CHECK(again.rows == texts.rows && again.warnings == texts.warnings);
  if (status.ok()) KPROF_CHECK(texts.events == static_cast<int64_t>(texts.rows.size()));
  return 0;
}

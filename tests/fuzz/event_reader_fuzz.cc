// The record of an event run as kprofd would not write it.
#include <cstddef>
#include <cstdint>
#include <string>

#include "daemon/ingest/event/event_reader.h"
#include "tests/fakes/ingest/batch_texts.h"
#include "tests/fakes/ingest/memory_text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kprof;
  const std::string source(reinterpret_cast<const char*>(data), size);
  (void)LooksLikeEventSamples(source);
  MemoryText text(source);
  BatchTexts texts;
  const Status status = ReadEventSamples(text, texts);
  KPROF_CHECK(!text.read_released);
  if (status.ok()) KPROF_CHECK(!texts.side_rows.empty());
  return 0;
}

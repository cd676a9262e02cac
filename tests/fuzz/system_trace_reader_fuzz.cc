// A system trace of Neuron as no tool would write it; and the same as the text within a kernel profile.
#include <cstddef>
#include <cstdint>
#include <string>

#include "daemon/ingest/neuron/system_trace_reader.h"
#include "tests/fakes/ingest/batch_texts.h"
#include "tests/fakes/ingest/memory_text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kprof;
  const std::string source(reinterpret_cast<const char*>(data), size);
  (void)LooksLikeNeuronSystem(source);
  (void)DroppedEventsIn(source);
  MemoryText text(source);
  BatchTexts texts;
  const Status status = ReadNeuronSystem(text, texts, 1 << 20);
  KPROF_CHECK(!text.read_released);
  if (status.ok()) KPROF_CHECK(texts.rows.size() <= texts.side_rows.size() + static_cast<size_t>(texts.events));
  return 0;
}

// A device profile of Neuron as no tool would write it.
#include <cstddef>
#include <cstdint>
#include <string>

#include "daemon/ingest/neuron/neuron_json_reader.h"
#include "tests/fakes/ingest/batch_texts.h"
#include "tests/fakes/ingest/memory_text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kprof;
  const std::string source(reinterpret_cast<const char*>(data), size);
  (void)LooksLikeNeuronJson(source);
  MemoryText first(source);
  MemoryText text(source);
  BatchTexts texts;
  const Status status = ReadNeuronJson(&first, text, texts, 1 << 16, {.operand_bytes = 1 << 10, .facts = 100});
  KPROF_CHECK(!text.read_released);
  KPROF_CHECK(status.ok() || status.code() == ErrorCode::kNotFound || status.code() == ErrorCode::kBadInput);
  return 0;
}

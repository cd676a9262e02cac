// A kernel profile of nkipy as no tool would write it.
#include <cstddef>
#include <cstdint>
#include <string>

#include "daemon/ingest/neuron/nkipy_reader.h"
#include "tests/fakes/ingest/batch_texts.h"
#include "tests/fakes/ingest/memory_text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kprof;
  const std::string source(reinterpret_cast<const char*>(data), size);
  (void)LooksLikeNkipy(source);
  MemoryText text(source);
  BatchTexts texts;
  (void)ReadNkipy(text, texts, 1 << 20);
  KPROF_CHECK(!text.read_released);
  return 0;
}

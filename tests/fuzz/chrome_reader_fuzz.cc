// A Chrome trace as no tool would write it. Read in small pieces side by side, it is what it is read in one; and what
// is put together of it is a part.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "daemon/ingest/assemble/trace_assembler.h"
#include "daemon/ingest/chrome/chrome_reader.h"
#include "tests/fakes/ingest/batch_texts.h"
#include "tests/fakes/ingest/memory_part.h"
#include "tests/fakes/ingest/memory_text.h"

namespace kprof {
namespace {

// Both what a reader gives, and what is put together of that.
class Both : public BatchTexts {
 public:
  explicit Both(WorkerPool& pool) : assembler(part, pool, {.rows_at_once = 16}) {}
  Status Take(TraceBatch batch) override {
    RETURN_IF_ERROR(BatchTexts::Take(batch));
    return assembler.Add(std::move(batch));
  }

  MemoryPart part;
  TraceAssembler assembler;
};

}  // namespace
}  // namespace kprof

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kprof;
  if (size == 0) return 0;
  const std::string source(reinterpret_cast<const char*>(data) + 1, size - 1);
  static WorkerPool pool({.threads = 2});

  MemoryText whole(source);
  BatchTexts expected;
  WorkerPool none({.threads = 0});
  const Status status = ReadChrome(whole, none, expected, {.readers = 1});

  MemoryText text(source);
  Both pieces(pool);
  const Status same = ReadChrome(text, pool, pieces, {.readers = 2, .piece_bytes = 16 + data[0]});
  KPROF_CHECK(same.ToString() == status.ToString() && !text.read_released);
  KPROF_CHECK(pieces.Sorted() == expected.Sorted() && pieces.facts == expected.facts);
  KPROF_CHECK(pieces.warnings == expected.warnings && pieces.events == expected.events);
  BatchTexts end;
  (void)ReadChromeEnd(source, end);
  if (!status.ok()) return 0;
  KPROF_CHECK(pieces.assembler.Finish().ok());
  size_t rows = 0;
  for (const EventKind kind :
       {EventKind::kSlice, EventKind::kInstant, EventKind::kCounter, EventKind::kFlow, EventKind::kMetadata}) {
    rows += pieces.part.Rows(kind).size();
  }
  KPROF_CHECK(rows <= expected.rows.size() && 2 * rows >= expected.rows.size());  // of a begin and an end is one
  return 0;
}

// Trace parts: whatever a file holds, opening it as a part and reading all of it ends well, or fails as storage broken.
// And what passes for good holds what it says: each column as many values as its segment has rows.
//
// Input: as changed_parts.h takes it, of a small good part.
#include <cstddef>
#include <cstdint>

#include "storage/trace/read/part_reader.h"
#include "storage/trace/write/part_writer.h"
#include "tests/fakes/trace/read_part.h"
#include "tests/fakes/trace/sample_part.h"
#include "tests/fuzz/changed_parts.h"

namespace kprof {
namespace {

void WriteSample(const std::string& path) {
  const std::unique_ptr<Files> files = MakePosixFiles();
  const std::unique_ptr<PartWriter> writer = *PartWriter::Create(*files, path);
  KPROF_CHECK(FillSample(*writer).ok() && FillSideSample(*writer).ok() && writer->Finish({}).ok());
}

}  // namespace
}  // namespace kprof

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kprof;
  static const ChangedParts parts(WriteSample);
  FuzzBytes input(data, size);
  if (!parts.Make(input)) return 0;
  ColumnCache cache(1 << 20);
  const Result<std::unique_ptr<PartReader>> reader = PartReader::Open(parts.path(), cache);
  const Status status = reader.ok() ? ReadAll(**reader) : reader.status();
  KPROF_CHECK(status.ok() || status.code() == ErrorCode::kStorageBroken);
  return 0;
}

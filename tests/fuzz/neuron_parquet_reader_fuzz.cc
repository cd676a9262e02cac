// Parquet files with anything in them, as tables of Neuron device profiles and system traces: the reader ends, in
// bounds.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

#include "daemon/ingest/neuron/neuron_parquet_reader.h"
#include "storage/base/descriptors.h"
#include "tests/fakes/ingest/batch_texts.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using kprof::ErrorCode;
  using kprof::Result;
  using kprof::SourceFile;
  using kprof::Status;
  const kprof::UniqueFd fd(::memfd_create("table", MFD_CLOEXEC));
  KPROF_CHECK(fd.valid() && ::write(fd.get(), data, size) == static_cast<ssize_t>(size));
  for (const char* const name :
       {"Instruction.parquet", "Summary.parquet", "SystemProfileEvents.parquet", "CpuUsage.parquet", "other"}) {
    const Result<SourceFile> source = SourceFile::Open(fd.get(), name);
    KPROF_CHECK(source.ok());
    kprof::BatchTexts texts;
    const Status status = kprof::ReadNeuronParquet(*source, texts, {.operand_bytes = 1 << 10, .facts = 100});
    KPROF_CHECK(status.ok() || status.code() == ErrorCode::kNotFound || status.code() == ErrorCode::kBadInput);
  }
  return 0;
}

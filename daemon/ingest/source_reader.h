// Reads a source into a part: finds out its format, unpacks it, has the reader of the format read it, and assembles the
// part from the reader's batches. Or looks at it, to learn what it is of. Runs in the process that takes hostile files
// apart (kprof_ingest_main.cc), and in tests.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "daemon/base/worker_pool.h"
#include "daemon/ingest/source/source_facts.h"
#include "daemon/ingest/source/source_file.h"
#include "daemon/ingest/source/source_formats.h"
#include "storage/base/status.h"
#include "storage/trace/write/part_sink.h"

namespace kprof {

struct SourceReading {
  std::string format = "auto";  // source_formats.h
  size_t threads = 2;           // of the pool
  ReadingLimits limits = {};
  int64_t unpacked_bytes = int64_t{64} << 30;
};

struct ReadSourceResult {
  std::string format;  // the one that it was read as, by its closest name: a Chrome trace of Kineto's is "kineto"
  std::string hash;    // source_hash.h; empty: the source became shorter while it was read
  std::vector<std::string> warnings;
};

// Called now and then with the bytes and events of the source that were read so far.
using SourceProgress = std::function<void(int64_t bytes, int64_t events)>;

// Blocks. Fails with kUsage for an unknown format, kNotFound when the source is no trace of a known kind, kBadInput
// when it is a trace and nothing of it can be read, kCancelled; and as the part does.
Result<ReadSourceResult> ReadSource(const SourceFile& source, const SourceReading& reading, WorkerPool& pool,
                                    PartSink& part, const SourceProgress& progress, const std::stop_token& stop);

// Looks at the beginning of a source, and further only where that does not say what the source is of (looking_sink.h).
// Blocks; fails as ReadSource does, for what it sees of the source.
Result<SourceFacts> LookAtSource(const SourceFile& source, const SourceReading& reading, WorkerPool& pool);

}  // namespace kprof

// Reads one source, an open file, into one trace part. What is in the file is hostile until proven otherwise: it is
// taken apart by a process of its own (kprof-ingest) that has nothing but the descriptor, a pipe back and a limit of
// memory and time; here what it says is measured and written.
//
// Blocks, for as long as the source is large: from a thread of a pool. Nothing of a part is left where it fails.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "daemon/ingest/source/source_file.h"
#include "daemon/process/worker/worker_process.h"
#include "storage/base/files.h"
#include "storage/base/status.h"

namespace kprof {

struct ImportSource {
  int fd = -1;       // borrowed; a regular file, read with pread only, from its beginning
  std::string name;  // as its owner calls it: the last step of its path; what messages call it
  std::string format = "auto";
  std::optional<int64_t> rank;                 // what the source says of itself does not count then
  std::optional<int64_t> rank_if_unsaid = {};  // which it is likely to get then: ImportedPart::told_rank
  bool may_be_none = false;                    // that it is no trace at all is then no failure: ImportedPart::no_trace
  const SourceGrowth* growth = nullptr;        // how far it has come, where it is read while it comes; borrowed
};

struct ImportLimits {
  std::string program;         // kprof-ingest
  OwnChildren* own = nullptr;  // where its process is entered, if anywhere
  uint32_t threads = 2;
  int64_t memory_bytes = int64_t{1} << 30;  // of address space, most of which is never touched
  int64_t unpacked_bytes = int64_t{64} << 30;
  int64_t silent_ms = 60'000;  // without a word from it, it is ended
  std::string made_by;         // kprofd's version, for the part; empty: nobody's
};

// How many seconds of processors the reader of such a source may take, of all its threads together: some ten times what
// was measured of the slowest. A packed source holds more text than its size, but no more than may be unpacked.
int64_t MostCpuSeconds(int64_t source_bytes, int64_t unpacked_bytes);

struct ImportProgress {
  int64_t bytes = 0;        // of the source, as it is on disk
  int64_t total_bytes = 0;  // its size; 0: not known yet
  int64_t events = 0;
};

// What there is of it, for the catalog.
struct ImportedPart {
  std::optional<Status> no_trace;    // why the source is none; all else is empty then, and there is no part
  std::string format;                // that it was read as
  std::optional<int64_t> rank;       // as it was asked for, or the source says
  std::optional<int64_t> told_rank;  // which the part says that it is
  int64_t source_bytes = 0;
  std::string source_hash;  // source_hash.h; empty: it became shorter while it was read
  int64_t bytes = 0;        // of the part
  int64_t slices = 0;
  int64_t instants = 0;
  int64_t counters = 0;
  int64_t flows = 0;
  int64_t tracks = 0;
  bool has_metrics = false;           // it has the side table `metric`
  std::vector<std::string> warnings;  // what went wrong on the way, for people
};

// Into `part_path`, which must end in kTracePartEnding (layout.h). Fails with kBadInput, naming the source and
// the byte, where it is nothing that can be read; kCancelled once `stop` is requested; kStorageFull; kUsage for a
// format that there is not. A source that ends early, or is broken somewhere, is kept up to there, with a warning that
// says at which byte; so is one that becomes shorter while it is read. `progress` is called on this thread, some times
// a second. Of a source that still comes it lasts until that is whole: `stop` it where it breaks off.
Result<ImportedPart> ImportTrace(const ImportSource& source, const ImportLimits& limits, Files& files,
                                 const std::string& part_path, const std::stop_token& stop,
                                 const std::function<void(const ImportProgress&)>& progress);

}  // namespace kprof

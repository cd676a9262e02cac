// Reads one source, an open file, into one trace part. The file is hostile until proven otherwise: a process of its own
// (kprof-ingest) takes it apart, with nothing but the file's descriptor, a socket to us, and limits of memory and time.
// Here its answers are checked and written.
//
// Blocks, longer for larger sources: call it from a thread of a pool. A failed import leaves nothing of its part.
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
  std::string name;  // the last step of the owner's path; messages name it
  std::string format = "auto";
  std::optional<int64_t> rank;                 // counts, and not the rank that the source says
  std::optional<int64_t> rank_if_unsaid = {};  // a likely rank, for when nobody says one: ImportedPart::told_rank
  int64_t dropped_events = 0;                  // that its tool says its capture lost, beside what the source says
  bool may_be_none = false;                    // a source that is no trace is no failure: ImportedPart::no_trace
  const SourceGrowth* growth = nullptr;        // of a source that still comes: how far it has come; borrowed
};

struct ImportLimits {
  std::string program;         // kprof-ingest
  OwnChildren* own = nullptr;  // its process is entered here; null: nowhere
  uint32_t threads = 2;
  int64_t memory_bytes = int64_t{1} << 30;  // of address space, most of which is never touched
  int64_t unpacked_bytes = int64_t{64} << 30;
  int64_t silent_ms = 60'000;  // its process is ended after this time without a word
  int64_t look_ms = 10'000;    // a look that takes longer says nothing (trace_look.h)
  std::string made_by;         // kprofd's version, for the part; empty: none
};

// The most processor time in seconds for the reader of such a source, all its threads together: some ten times what the
// slowest source took. A packed source has more text than its size, but no more than `unpacked_bytes`.
int64_t MostCpuSeconds(int64_t source_bytes, int64_t unpacked_bytes);

struct ImportProgress {
  int64_t bytes = 0;        // of the source, as it is on disk
  int64_t total_bytes = 0;  // its size; 0: not known yet
  int64_t events = 0;
};

// The facts of an imported part, for the catalog.
struct ImportedPart {
  std::optional<Status> no_trace;    // why the source is no trace; all else is empty then, and there is no part
  std::string format;                // the one that it was read as
  std::optional<int64_t> rank;       // as asked for, or as the source says
  std::optional<int64_t> told_rank;  // the rank that is written into the part
  int64_t source_bytes = 0;
  std::string source_hash;  // source_hash.h; empty: the source became shorter while it was read
  int64_t bytes = 0;        // of the part
  int64_t slices = 0;
  int64_t instants = 0;
  int64_t counters = 0;
  int64_t flows = 0;
  int64_t tracks = 0;
  bool has_metrics = false;           // it has the side table `metric`
  std::vector<std::string> warnings;  // problems on the way, for people
};

// Writes `part_path`, which must end in kTracePartEnding (layout.h). Fails with kBadInput, naming the source and the
// byte, when nothing can be read; kCancelled once `stop` is requested; kStorageFull; kUsage for an unknown format. A
// source that ends early, is damaged, or becomes shorter while it is read, is kept up to there, with a warning that
// names the byte. `progress` is called on this thread, some times a second. With a source that still comes, it waits
// until that is whole: request `stop` when it breaks off.
Result<ImportedPart> ImportTrace(const ImportSource& source, const ImportLimits& limits, Files& files,
                                 const std::string& part_path, const std::stop_token& stop,
                                 const std::function<void(const ImportProgress&)>& progress);

}  // namespace kprof

// Reads a command's log while it is written, and finishes it when the run is over: the daemon's side of
// output_progress.h.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/launch/output_progress.h"
#include "storage/base/files.h"
#include "storage/base/status.h"

namespace kprof {

// A piece of a live log. `dropped_bytes` were printed before `bytes` and are gone.
struct OutputPiece {
  int64_t dropped_bytes = 0;
  std::string bytes;
  int64_t next_offset = 0;  // where to read on
  OutputLimits limits;      // the log's
};

// Reads what was printed from `offset` on, at most limit_bytes; empty when there is nothing new. Not for a finished
// log. Any thread.
Result<OutputPiece> ReadLiveOutput(Files& files, const std::string& log_path, const std::string& progress_path,
                                   OutputStream stream, int64_t offset, int64_t limit_bytes);

struct FinishedOutput {
  int64_t size_bytes = 0;  // of the file now; 0: there is no file
  std::string sha256;      // of the file
  int64_t printed_bytes = 0;
  int64_t dropped_bytes = 0;
};

// Puts head and tail in order (through a .partial and a rename), syncs the file (not its folder) and sums it. A log of
// no bytes is removed. Also does this after a crash, from whatever the progress file says (where that is nothing, or
// nonsense, the log counts as complete, as far as a log can be long), and again after a crash of its own. However long
// somebody has made the file, what is kept and summed is what limits allow. The writer must be gone. The progress file
// stays; once it is removed, how much the log dropped is only told by whoever kept the answer. From a worker.
Result<FinishedOutput> FinishOutput(Files& files, const std::string& log_path, const std::string& progress_path,
                                    OutputStream stream);

}  // namespace kprof

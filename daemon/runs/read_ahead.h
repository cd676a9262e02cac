// A source that is read while it still comes over the wire, so that at the end of its upload little is left to do: into
// a part in the state folder's tmp, by ImportTrace as any other. Its import takes the part, if what it asks for is what
// was read; else, and where this failed or there was no place for it, the source is read then, from its beginning.
//
// It is read as its bytes say, and of no rank but its own: whoever takes the part sees to that (ImportWays::set_rank).
// Neither run nor catalog know of it; while it waits it counts as what its user uploads (upload_bytes.h). Knows nothing
// of how the bytes come; that is source_spool.h.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "daemon/base/worker_pool.h"
#include "daemon/ingest/source_growth.h"
#include "daemon/ingest/trace_import.h"
#include "daemon/runs/upload_bytes.h"
#include "storage/base/files.h"
#include "storage/base/mutex.h"
#include "storage/base/status.h"
#include "storage/base/unique_fd.h"

namespace kprof {

// ImportTrace, or a test's.
using TraceImporter = std::function<Result<ImportedPart>(
    const ImportSource& source, const ImportLimits& limits, Files& files, const std::string& part_path,
    const std::stop_token& stop, const std::function<void(const ImportProgress&)>& progress)>;

// One of them. Destroying it ends the reading, and removes what came of it unless somebody took it; it does not wait
// for either. Each member from any thread.
class ReadAhead {
 public:
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  // How far the source has come. One thread at a time.
  void Tell(const SourceGrowth::State& grown);
  // Why it cannot be read, where its reader says so: no more of it need come.
  std::optional<Status> bad_source() const;

  struct Wanted {
    std::string name;  // of the source
    std::string format;
    bool may_be_none = false;
  };
  // Waits until it is read, and puts the part at `part_path`; nothing where it was read otherwise than is wanted, or
  // cannot be taken, or once `stop` is requested: then all of it is given up. Once. REQUIRES: the source is whole.
  std::optional<ImportedPart> Take(const Wanted& wanted, const std::string& part_path, const std::stop_token& stop,
                                   const std::function<void(const ImportProgress&)>& progress);

 private:
  friend class ReadAheads;
  struct Reading;
  explicit ReadAhead(std::shared_ptr<Reading> reading) : reading_(std::move(reading)) {}

  const std::shared_ptr<Reading> reading_;  // shared with the thread that reads, which may be the last that needs it
};

// Those of a daemon. Any thread.
class ReadAheads {
 public:
  struct Parts {
    TraceImporter import;
    const ImportLimits& limits;
    Files& files;
    std::string folder;   // where parts wait: the state folder's tmp
    WorkerPool& removal;  // of parts that nobody took
  };
  struct Options {
    size_t at_once = 1;                // that are being read; one more is read when it is imported
    int64_t least_bytes = 4 << 20;     // what is smaller is read in no time when it is there
    int64_t kept_free_bytes = 0;       // of the disk: where a part leaves less, it does not wait
    size_t longest_name_bytes = 1024;  // which an import does not take either
  };
  // What `parts` names outlives it and all that it begins.
  ReadAheads(Parts parts, const Options& options);
  // Ends all that read.
  ~ReadAheads();
  ReadAheads(const ReadAheads&) = delete;
  ReadAheads& operator=(const ReadAheads&) = delete;

  struct Source {
    int fd = -1;  // of a text, packed or not (ingest/source_kind.h)
    std::string name;
    bool may_be_none = false;
    std::shared_ptr<SpooledBytes> part_bytes;  // nobody else's: as what its part counts until it is taken
  };
  // Of a source of which so much has come. Null where that is too little yet, or there is no place: it may be tried
  // again when more of it is there.
  std::shared_ptr<ReadAhead> Begin(Source source, const SourceGrowth::State& grown);

  // Waits until nobody reads any more; nothing begins from here on.
  void End();

 private:
  bool TakePlace();
  void GiveBackPlace();
  void Read(ReadAhead::Reading& reading);
  // Whether there is room for a part that waits.
  Status CountPart(const ReadAhead::Reading& reading, int64_t part_bytes);

  const Parts parts_;
  const Options options_;
  std::stop_source stop_;
  Mutex mu_;
  size_t reading_ KPROF_GUARDED_BY(mu_) = 0;
  WorkerPool pool_;
};

}  // namespace kprof

// What a Chrome trace says of itself beside its events, as facts of the part: where its time begins, which rank of how
// many it is, its devices. What is kept is chrome_facts.h; how many members were not is the fact `left_out_members`. Of
// an export of ours also what it says of its tracks (chrome_facts.h), the first time that it does.
//
// One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/ingest/assemble/batch_sink.h"
#include "storage/base/status.h"
#include "storage/trace/write/trace_batch.h"

namespace kprof {

// What an import keeps of what a Chrome trace says of itself beside its events. Tools and the platforms that run them
// put there whatever they know: users, hosts, jobs, folders, whole environments. So what is kept is on a list; of all
// else only numbers and true or false, which say how a tool was set up and not who ran it.
//
// Pure; any thread.

// Of the member `key`, without escapes, what is kept of its value, as JSON without needless space: all of it but
// environments where it is on the list; of an object that is not, its members that are or are such values, at whatever
// depth. Nothing where nothing is.
std::optional<std::string> KeptFact(std::string_view key, std::string_view value);

// Tracks that an export of ours says more of than its events do, `kprofTracks` beside them: which events are of it, and
// what it is (docs/exports.md). Anybody can write such a list: what is no such track is passed over, and what one is
// said to be is no more than that.
//
// Pure; any thread.

// Further ones are passed over.
constexpr size_t kMostExportedTracks = 1 << 18;

// A batch without rows and tracks, of no reader's source.
TraceBatch ReadExportedTracks(std::string_view json);

class ChromeFacts {
 public:
  // All facts of a part are read with every question to it.
  static constexpr size_t kMostFacts = 1000;
  static constexpr size_t kMostFactBytes = 1 << 20;  // of one
  static constexpr size_t kMostAllFactsBytes = 8 << 20;
  static constexpr int64_t kMostRank = 1 << 24;  // as --rank has it

  explicit ChromeFacts(BatchSink& sink) : sink_(sink) {}

  // A member of the object around the events; both as they are written.
  Status See(std::string_view key, std::string_view value);
  // Once, last. With the time of the first event that has one; 0: none has. Where there is no base and that is one of
  // this century, times are taken for those since 1970.
  Status Finish(int64_t first_time_ns);

 private:
  Status SeeDistribution(std::string_view value);
  Status Keep(const std::string& name, std::string_view value);

  BatchSink& sink_;
  size_t facts_ = 0;
  size_t bytes_ = 0;
  int64_t left_out_ = 0;
  int64_t too_many_ = 0;
  std::optional<int64_t> base_unix_ns_;
  bool has_tracks_ = false;
};

}  // namespace kprof

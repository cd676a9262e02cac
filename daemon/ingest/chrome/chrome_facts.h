// Makes facts of the part from the members beside a Chrome trace's events: where its time begins, which rank of how
// many it is, its devices. KeptFact decides which are kept; the fact `left_out_members` counts the others. Exports of
// ours also describe their tracks there (ReadExportedTracks).
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

// The part of a member's value that an import keeps, as JSON without needless space. `key` is without escapes. Tools
// and the platforms that run them write there whatever they know: users, hosts, jobs, folders, whole environments. So a
// member is kept if it is on a list, but without environments. Of other members only numbers, true and false are kept,
// which say how a tool was set up and not who ran it; the same goes for the members of an object, at any depth.
// Nothing: nothing is kept.
//
// Pure; any thread.
std::optional<std::string> KeptFact(std::string_view key, std::string_view value);

constexpr size_t kMostExportedTracks = 1 << 18;  // further ones are passed over

// Reads `kprofTracks` of an export of ours, which says more of tracks than their events do: which events are on a
// track, and what the track is (docs/exports.md). Anybody can write such a list: entries that are no such track are
// passed over, and an entry changes nothing but the description of its track. The batch has no rows and no tracks, and
// its source is no reader's.
//
// Pure; any thread.
TraceBatch ReadExportedTracks(std::string_view json);

class ChromeFacts {
 public:
  // Limits, because every query of a part reads all its facts.
  static constexpr size_t kMostFacts = 1000;
  static constexpr size_t kMostFactBytes = 1 << 20;  // of one
  static constexpr size_t kMostAllFactsBytes = 8 << 20;
  static constexpr int64_t kMostRank = 1 << 24;  // as --rank has it

  explicit ChromeFacts(BatchSink& sink) : sink_(sink) {}

  // Takes a member of the object around the events, key and value as they are written.
  Status See(std::string_view key, std::string_view value);
  // Call once, last. `first_time_ns`: of the first event that has a time; 0: none has. If the trace names no base and
  // this is a time of this century, times are taken for those since 1970.
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

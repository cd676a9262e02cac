// What a Chrome trace says of itself beside its events, as facts of the part: where its time begins, which rank of how
// many it is, its devices. What might be a secret of who was profiled (an environment) is left out. Of an export of
// ours also what it says of its tracks (exported_tracks.h), the first time that it does.
//
// One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "daemon/ingest/batch_sink.h"
#include "storage/base/status.h"

namespace kprof {

class ChromeFacts {
 public:
  explicit ChromeFacts(BatchSink& sink) : sink_(sink) {}

  // A member of the object around the events; both as they are written.
  Status See(std::string_view key, std::string_view value);
  // With the time of the first events, if there were any: where there is no base, those that say a time since 1970 are
  // taken for that.
  Status Finish(std::optional<int64_t> first_time_ns);

 private:
  BatchSink& sink_;
  std::optional<int64_t> base_unix_ns_;
  bool has_tracks_ = false;
};

}  // namespace kprof

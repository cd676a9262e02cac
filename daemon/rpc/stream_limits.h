// Limits of streams: of their messages, and of how many may fill the disk or take long at a time. One object for the
// servers of all callers; outlives their streams. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "daemon/access/call_admission.h"
#include "daemon/base/bounded_places.h"
#include "daemon/runs/retention/storage_limits.h"

namespace kprof {

struct StreamLimits {
  static constexpr size_t kChunkBytes = 256 << 10;  // of a file or a log, at most, in one message
  static constexpr int kUploads = 64;
  static constexpr int kUploadsPerUid = 16;
  static constexpr int kBackUps = 1;  // each writes the whole catalog once more
  static constexpr int kExports = 4;  // each has a thread of its own
  static constexpr int kExportsPerUid = 2;
  static constexpr int kDeviceWatches = 64;  // each looks ten times a second, on the io loop
  static constexpr int kDeviceWatchesPerUid = 16;
  // Long queries get fewer places than there are threads, so that some threads are left for short ones.
  static constexpr int kQueryThreads = 8;
  static constexpr int kLongQueries = 6;

  explicit StreamLimits(const StorageLimits& storage) : upload_bytes(storage) {}

  Places uploads{{.limit = kUploads, .limit_per_uid = kUploadsPerUid}};
  UploadBytes upload_bytes;
  CallTotals calls;
  Places backups{{.limit = kBackUps, .limit_per_uid = kBackUps + 1}};
  Places exports{{.limit = kExports, .limit_per_uid = kExportsPerUid}};
  Places device_watches{{.limit = kDeviceWatches, .limit_per_uid = kDeviceWatchesPerUid}};
  Places long_queries{{.limit = kLongQueries, .limit_per_uid = kLongQueries + 1}};
};

}  // namespace kprof

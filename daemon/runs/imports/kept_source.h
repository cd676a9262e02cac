// The source of an import as an artifact of its run: a copy in the run's folder. Blocking.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "storage/base/files.h"
#include "storage/base/status.h"
#include "storage/catalog/run_row.h"

namespace kprof {

// A name that an artifact may have, as near as possible to the source's own, and none of those.
std::string ArtifactNameFor(const std::string& source_name, const std::vector<ArtifactRow>& taken);

// What was imported of it.
struct ImportedSource {
  int fd = -1;  // borrowed
  int64_t size_bytes = 0;
  std::string hash;  // of source_hash.h
};

// Copies as much as was imported, and nothing else: kBadInput where it has other bytes by now. Durable when it returns,
// but for the folder. kStorageFull where there is no room for it, which is known before; kCancelled once `stop` is
// requested. What there is of a copy that failed is left to the caller.
Result<ArtifactRow> KeepSource(const ImportedSource& source, Files& files, const std::string& path,
                               const std::string& name, const std::stop_token& stop);

}  // namespace kprof

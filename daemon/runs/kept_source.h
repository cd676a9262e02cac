// The source of an import as an artifact of its run: a copy in the run's folder. Blocking.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "storage/base/files.h"
#include "storage/base/status.h"
#include "storage/catalog/run_row.h"

namespace kprof {

// A name that an artifact may have, as near as possible to the source's own, and none of those.
std::string ArtifactNameFor(const std::string& source_name, const std::vector<ArtifactRow>& taken);

// Copies all of it, from its beginning; durable when it returns, but for the folder. kCancelled once `stop` is
// requested.
Result<ArtifactRow> KeepSource(int fd, Files& files, const std::string& path, const std::string& name,
                               const std::stop_token& stop);

}  // namespace kprof

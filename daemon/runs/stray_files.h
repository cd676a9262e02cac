// What lies in the state folder and belongs to no run: left by a crash in the middle of something, or by a catalog that
// was put back from before it.
#pragma once

#include <stop_token>
#include <string>

#include "storage/base/clock.h"
#include "storage/base/files.h"
#include "storage/base/status.h"
#include "storage/catalog/catalog.h"

namespace kprof {

// Folders of no run and files of no artifact go to lost/, never away: perhaps it is the catalog that is too old. Spool
// files of no open run are removed. Not urgent: from a worker, once the daemon serves; blocking. Runs that are
// submitted meanwhile are safe: only names older than `before_id` are looked at.
Status PutStraysAway(Catalog& catalog, Files& files, const Clock& clock, const std::string& before_id,
                     std::stop_token stop);

}  // namespace kprof

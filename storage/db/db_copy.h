// Copies a database into another, page by page, as one snapshot of it, while others write to it.
#pragma once

#include <stop_token>

#include "storage/base/status.h"
#include "storage/db/db.h"

namespace kprof {

// `to` is empty, and then a file that stands alone: it opens even where nothing may be written. Blocking, with pauses
// that leave the disk to others. kCancelled when told to stop. `from` holds its snapshot until it is closed.
Status CopyDb(Db& from, Db& to, const std::stop_token& stop);

}  // namespace kprof

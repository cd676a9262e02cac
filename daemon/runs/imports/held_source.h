// A source of an import while kprofd holds it: an open file of which the import reads, and its place among those that
// may be held. A resource; closing it gives all of it back.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "daemon/base/bounded_places.h"
#include "daemon/runs/retention/upload_bytes.h"
#include "storage/base/unique_fd.h"

namespace kprof {

struct HeldSource {
  UniqueFd fd;  // a regular file, read with pread alone: what its owner truncates under us ends early, and no more
  int64_t size_bytes = 0;                 // when it came
  std::shared_ptr<Places::Place> place;   // shared: by what is copied on its way from thread to thread
  std::shared_ptr<SpooledBytes> spooled;  // of one that came over the wire; the same
};

}  // namespace kprof

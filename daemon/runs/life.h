// What an open run does from its turn until its end is known: a command (run_life.h) or an import (import_life.h). Each
// state is committed before it is acted on; committing the end is the owner's (runs.h).
//
// Io loop only. Every path ends in exactly one call of `ended`, after which it does nothing more and may be destroyed
// (not from inside the call).
#pragma once

#include <cstdint>
#include <functional>

#include "daemon/runs/run_end.h"
#include "storage/base/status.h"
#include "storage/catalog/run_row.h"

namespace kprof {

struct LifeEvents {
  std::function<void(const RunRow&)> changed;  // a new state is durable
  std::function<void(EndedRun)> ended;         // the row as it ends; committing it is up to the owner
};

class Life {
 public:
  virtual ~Life() = default;

  virtual void Begin() = 0;

  // Ends it, or keeps it from starting; the run then ends with this error. Too late once its work has ended: returns
  // false. A second call can only shorten the grace; the first reason stays.
  virtual bool Stop(const Status& reason, int64_t grace_ms) = 0;

  // Something befell its devices that makes what it measures less believable.
  virtual void Doubt(const TrustReason& /*reason*/) {}

  // What was asked for was let go. Before that nothing of it was executed, and Stop sees to it that nothing is.
  virtual bool has_begun() const = 0;
};

}  // namespace kprof

// The life of an open run from its turn until its end is known: a command (command_life.h) or an import
// (import_life.h). Each state is committed before it is acted on. The owner commits the end (runs.h).
//
// Io loop only. Every path ends in exactly one call of `ended`. After it the life does nothing more and may be
// destroyed (not from inside the call).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "daemon/ingest/trace_import.h"
#include "daemon/runs/command/run_end.h"
#include "storage/base/status.h"
#include "storage/catalog/run_row.h"

namespace kprof {

struct LifeEvents {
  // The step of a command before its lease has run well; the command wants its devices now.
  std::function<void()> wants_devices;
  std::function<void(const RunRow&)> changed;  // a new state is durable
  // A command is over: its devices are free, and it goes on to store what it left. At most once. `failed`: why the run
  // fails, as far as that is known.
  std::function<void(const RunRow&, const std::optional<Status>& failed)> left_devices;
  // It wants a place among the imports. `granted` is called from the loop when it has one; it keeps the place to its
  // end.
  std::function<void(std::function<void()> granted)> wait_to_import;
  std::function<void(const ImportProgress&)> import_progress;
  std::function<void(EndedRun)> ended;  // the row as it ends; committing it is up to the owner
};

class Life {
 public:
  virtual ~Life() = default;

  virtual void Begin() = 0;

  // The devices that it wanted are its own. `trust`: what is known of them by now. REQUIRES: wants_devices was called.
  virtual void OnGranted(const std::vector<TrustReason>& /*trust*/) {}

  // Ends it, or keeps it from starting; the run then ends with this error. Returns false if its work has ended already:
  // that is too late. A second call can only shorten the grace; the first reason stays.
  virtual bool Stop(const Status& reason, int64_t grace_ms) = 0;

  // Something befell its devices that makes what it measures less believable.
  virtual void Doubt(const TrustReason& /*reason*/) {}

  // True once the command, or the import, was let go. Before that nothing of it was executed, and Stop sees to it that
  // nothing is.
  virtual bool has_begun() const = 0;
};

}  // namespace kprof

// Keeps the files that the command of one run left: from the descriptors that its supervisor hands over until they are
// artifacts of the run and the traces among them parts of its trace. They are looked at, copied, read in a place among
// the imports, and charts of them drawn. Says what belongs into the run's row; its owner stores that.
//
// Io loop only; what blocks is done on pools. Destroyed only when it is over, or was never begun.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "daemon/base/io_loop.h"
#include "daemon/capture/tool.h"
#include "daemon/process/launchers/launcher.h"
#include "daemon/runs/command/run_outputs.h"
#include "daemon/runs/imports/import_work.h"
#include "daemon/runs/run_context.h"
#include "storage/base/status.h"
#include "storage/catalog/run_row.h"

namespace kprof {

class OutputKeeping {
 public:
  struct Events {
    // As in LifeEvents (life.h).
    std::function<void(std::function<void()> granted)> wait_to_import;
    std::function<void(const ImportProgress&)> import_progress;
    // Once; maybe from inside Begin.
    std::function<void()> over;
  };
  // `account`: the user that limits count the run as. `longest_ms`: the time that reading may take; 0: any time.
  OutputKeeping(const RunContext& context, const RunRow& run, uint32_t account, const Tool& tool, int64_t longest_ms,
                Events events);
  OutputKeeping(const OutputKeeping&) = delete;
  OutputKeeping& operator=(const OutputKeeping&) = delete;

  // Call it before Begin. A descriptor from a caller's supervisor counts among those that are held for imports.
  void Take(const std::shared_ptr<ReceivedOutput>& file);
  void NoteLeftOut(const OutputsLeftOut& left_out) { left_out_ = left_out; }
  bool has_some() const { return !outputs_.empty(); }

  // Keeps nothing. Instead of Begin.
  void Drop() { outputs_.clear(); }

  // `taken`: the artifacts that the run has already. `tool_notes`: what its tool says of it, "code: message". REQUIRES:
  // nothing else writes into its folder any more.
  void Begin(std::vector<ArtifactRow> taken, const std::vector<std::string>& tool_notes);

  // Keeps no more; files that are kept by now stay. False: it is over, or there is nothing to keep. Where the daemon
  // stops, trust says how many files are not kept.
  bool Stop(bool daemon_stops);

  struct Kept {
    std::vector<ArtifactRow> artifacts;
    Imported imported;
    std::vector<TrustReason> trust;
    std::optional<Status> error;  // why not all could be done
  };
  // REQUIRES: it is over, and this was not called.
  Kept TakeKept();

  // Why the run fails with tool_failed (run_outputs.h). `parts`, `trust`: of its row. REQUIRES: it is over.
  std::optional<Status> WhyItsToolFailed(const std::vector<TracePartRow>& parts,
                                         const std::vector<TrustReason>& trust) const {
    return WhyToolFailed(tool_, run_id_, files_, parts, trust);
  }

 private:
  // Does the work on a worker, and goes on with its result on the loop.
  template <typename T>
  void OnWorker(WorkerPool& pool, std::function<Result<T>()> work, void (OutputKeeping::*then)(Result<T>));
  void NoteWhatIsLeftOut();
  void OnChosen(Result<ChosenOutputs> chosen);
  // Whether its owner may store so much more.
  void CheckRoom(int64_t bytes, std::function<void(Status)> then);
  void Copy();
  void OnCopied(Result<KeptOutputs> copied);
  void Import();
  OnImportProgress Reporter();
  void OnImported(Result<Imported> imported);
  void CheckRoomOfParts();
  // Draws the charts of its parts, where its tool has some.
  void DrawCharts();
  void OnChartsKept(Result<std::vector<ArtifactRow>> charts);
  void DropParts(const Status& why);
  void OnPartsDropped(Result<bool> dropped);
  // Ends it, if it was stopped or has failed; true then.
  bool IsOver();
  void EndIt();

  const RunContext context_;
  const RunRow run_;  // as it was when this was made
  const std::string& run_id_ = run_.id;
  const uint32_t uid_;
  const uint32_t account_;
  const bool is_callers_;  // somebody else's supervisor sends the files
  const Tool& tool_;
  const int64_t longest_ms_;
  const Events events_;

  std::vector<HeldOutput> outputs_;  // not copied yet
  OutputsLeftOut left_out_;          // by the supervisor
  int64_t refused_ = 0;              // for want of a place
  std::vector<ArtifactRow> taken_;
  int64_t dropped_events_ = 0;     // of the capture, as its tool says
  std::vector<KeptOutput> files_;  // copied
  Kept kept_;
  bool goes_on_ = false;
  bool waits_to_import_ = false;
  bool was_stopped_ = false;
  bool daemon_stops_ = false;
  std::stop_source stop_;
  IoLoop::Timer import_limit_;
};

}  // namespace kprof

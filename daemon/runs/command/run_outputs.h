// Turns files that a command and its tool left from descriptors into artifacts of the run, and the traces among them
// into parts of its trace. A process that hands a descriptor over may be hostile: each is looked at here, once, and
// copied; the copy alone is read as a trace. Nothing of it is in the catalog before the run's end.
//
// Blocks, for as long as the files are large: from a thread of a pool.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "daemon/base/bounded_places.h"
#include "daemon/capture/tool.h"
#include "daemon/process/launchers/launcher.h"
#include "daemon/runs/imports/import_work.h"
#include "daemon/runs/run_context.h"
#include "storage/base/files.h"
#include "storage/base/status.h"
#include "storage/catalog/run_row.h"
#include "storage/db/layout.h"

namespace kprof {

// Codes in the run's trust.
inline constexpr char kOutputLeftOut[] = "output_left_out";
inline constexpr char kOutputIncomplete[] = "output_incomplete";
inline constexpr char kChartsNotDrawn[] = "charts_not_drawn";

// Where the command left it, from its folder `cwd` on, as an artifact tells it (ArtifactRow::path): steps that go down,
// of readable text, kMostKeptPathBytes at most. Empty: it lies elsewhere, its tool left it, or its path is not such.
// Goes by the path alone, which may be made up.
inline constexpr size_t kMostKeptPathBytes = 1024;
std::string PathInFolder(const OutputFound& found, const std::string& cwd);

// A file on its way; its copies, from thread to thread, share the descriptor.
struct HeldOutput {
  std::shared_ptr<ReceivedOutput> file;
  std::shared_ptr<Places::Place> place;  // none: it is not counted
  int64_t size_bytes = 0;                // at the look
};

struct ChosenOutputs {
  std::vector<HeldOutput> outputs;
  int64_t bytes = 0;
  std::vector<TrustReason> trust;  // for files that are left out
};
// Looks at each: leaves out a file that is not regular, or not open for reading alone, and those over the limits.
// `is_callers`: somebody else's supervisor sent them; then files on a file system in user space are left out, too: a
// read there takes as long as that likes.
ChosenOutputs ChooseOutputs(std::vector<HeldOutput> outputs, const OutputsPolicy& policy, bool is_callers);

struct KeptOutput {
  ArtifactRow artifact;
  OutputFound found;
  bool looks_like_trace = false;
};
struct KeptOutputs {
  std::vector<KeptOutput> kept;
  std::vector<TrustReason> trust;
};
// Copies them into the run's folder, beside the artifacts that `run` has. Durable when it succeeds; else nothing of it
// is left. No two have the same path: the first one keeps it. Fails with kStorageFull where they do not fit, and
// kCancelled once `stop` is requested.
Result<KeptOutputs> KeepOutputs(const std::vector<HeldOutput>& outputs, Files& files, const Layout& layout,
                                const RunRow& run, const OutputsPolicy& policy, const std::stop_token& stop);

// True if one of them is to be read as a trace.
bool HaveTraces(const std::vector<KeptOutput>& kept, const Tool& tool);

// The plan to read these. The files are open as long as it lives. Fails where a copy cannot be opened.
Result<std::shared_ptr<ImportPlan>> PlanToImport(const std::vector<KeptOutput>& kept, const Tool& tool, Files& files,
                                                 const Layout& layout, const std::string& run_id);

// Why the run fails with tool_failed: an output that its tool must leave is missing, or is no part of the trace;
// nothing where all are well. `why`: reasons for outputs that are no parts.
std::optional<Status> WhyToolFailed(const Tool& tool, const std::string& run_id, const std::vector<KeptOutput>& kept,
                                    const std::vector<TracePartRow>& parts, const std::vector<TrustReason>& why);

}  // namespace kprof

// What an import does while it runs: reads its sources, one after the other, into parts in the run's folder, gives
// those their names, keeps the sources beside them where that is wanted. Nothing of it is in the catalog before its
// end. Blocks, for as long as the sources are large: from a thread of a pool.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "daemon/runs/imports/held_sources.h"
#include "daemon/runs/run_context.h"
#include "storage/base/files.h"
#include "storage/base/status.h"
#include "storage/catalog/run_row.h"
#include "storage/db/layout.h"
#include "storage/trace/read/metric_table.h"

namespace kprof {

// The source of an import as an artifact of its run: a copy in the run's folder. Blocking.

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

// The few rows that the catalog keeps of what the parts of a run measured of kernels (their side tables `metric`): each
// metric of a kernel over all of its launches, in all parts. The launches themselves stay in the parts.
//
// Blocks: on the thread that wrote the parts.
class PartMetrics {
 public:
  // Of a run. Which of them: those that come first.
  static constexpr size_t kMostRows = 2'048;

  // Of a finished part. Fails as PartReader does.
  Status Add(const std::string& part_path);

  // The rows of kernels, without a launch; and for the run as a whole how many rows its parts have
  // (`kernel_metric_rows`) and, where there were too many, how many metrics of kernels are left out
  // (`kernel_metrics_left_out`). Nothing where no part has any.
  void Finish(std::vector<MetricRow>& metrics, std::vector<MetricRow>& kernel_metrics);

 private:
  std::vector<KernelMetric> kept_;
  int64_t rows_ = 0;
  int64_t left_out_ = 0;
};

// What an import is to read; its files are open as long as it lives.
struct ImportPlan {
  struct Source {
    HeldSource held;
    std::string name;
    std::optional<int64_t> rank;  // as it was asked for
    std::string told_name;        // with the folder that it is in, where that was told
    bool may_be_none = false;     // where it is no trace it is left out
    std::string artifact = {};    // of the run that it is already
    std::string format = {};      // empty: as that of the plan
  };
  std::vector<Source> sources;
  std::string format;
  bool keep_sources = false;
  // They are files that a run left: one that cannot be read is left out, and named where it was to be a trace.
  bool are_outputs = false;

  int64_t total_bytes() const;
};

// In a run's trust: a file that it left is kept and is no part of its trace, although it was to be one.
inline constexpr char kOutputNotImported[] = "output_not_imported";

struct Imported {
  std::vector<TracePartRow> trace;
  std::vector<ArtifactRow> artifacts;
  std::vector<TrustReason> trust;
  std::vector<MetricRow> metrics;  // of the run as a whole
  std::vector<MetricRow>
      kernel_metrics;  // over all launches and parts; a bounded number, the rest is counted in `metrics`
};

// Of all sources together.
using OnImportProgress = std::function<void(const ImportProgress&)>;

// The run's folder is there, without a part of such a name. When it returns well all of it is durable; else the folder
// is the caller's to remove. A source that may be none and is no trace is left out, and named in `trust`; where all
// are, it is kBadInput, and so are two of the same bytes that hold events, unless each says another rank. Fails
// otherwise as ImportTrace does, naming the source, and for the first that does; kCancelled once `stop` is requested.
// Of outputs what cannot be read is in `trust`, and nothing is left of it nor of parts of a failure.
Result<Imported> ImportSources(const ImportContext& context, Files& files, const Layout& layout,
                               const std::string& run_id, const ImportPlan& plan, const std::stop_token& stop,
                               const OnImportProgress& progress);

}  // namespace kprof

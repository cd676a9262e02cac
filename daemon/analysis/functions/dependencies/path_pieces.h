// The longest path of a part's dependencies in words: its pieces, each with its name. Time of a thread has the name of
// the innermost slice that was open then.
//
// On the reader's thread. Costs the longest path, and a pass over the slices of threads in those times in which the
// path is on them. Memory, which is asked for: 40 bytes for each piece; for a while, the slices of a stretch.
#pragma once

#include <cstdint>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/functions/dependencies/dependency_graph.h"
#include "daemon/analysis/functions/dependencies/work_dependencies.h"
#include "storage/base/status.h"

namespace kprof {

// A stretch of the path.
struct PathPiece {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  DependencyKind kind = DependencyKind::kHost;
  int64_t name = kNoValue;  // a string's number, or kNoValue: there is no slice
  uint32_t track = UINT32_MAX;
};

struct PathName {
  DependencyKind kind = DependencyKind::kHost;
  int64_t name = kNoValue;
  int64_t path_ns = 0;
  int64_t pieces = 0;
};

struct PathPieces {
  std::vector<PathPiece> pieces;  // in the order of time; what a thread did between others is one
  std::vector<PathName> names;    // all that are on the path, the longest first
};

// `total_ns`: the length of the path. Fails as reading does, and as take_memory.
Result<PathPieces> FindPathPieces(const AnalysisTraces& traces, size_t part, WorkDependencies& dependencies,
                                  int64_t total_ns, const StopSignal& stop);

}  // namespace kprof

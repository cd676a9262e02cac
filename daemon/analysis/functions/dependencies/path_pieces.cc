#include "daemon/analysis/functions/dependencies/path_pieces.h"

#include <algorithm>
#include <map>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "daemon/analysis/functions/host/innermost_slices.h"
#include "daemon/analysis/functions/launches/calls_and_work.h"
#include "daemon/analysis/operators/event_filter.h"
#include "daemon/analysis/operators/trace_part.h"
#include "storage/base/memory_charge.h"

namespace kprof {
namespace {

constexpr int64_t kMostStretchesRead = 32;

class PieceFinder {
 public:
  PieceFinder(const AnalysisTraces& traces, size_t part, WorkDependencies& dependencies, int64_t total_ns)
      : traces_(traces), part_(part), dependencies_(dependencies), total_ns_(total_ns) {}

  Result<PathPieces> Find(const StopSignal& stop) {
    RETURN_IF_ERROR(FindPieces(stop));
    PathPieces found{std::move(pieces_), {}};
    found.names.reserve(names_.size());
    for (const auto& [key, name] : names_) found.names.push_back(name);
    std::stable_sort(found.names.begin(), found.names.end(),
                     [](const PathName& a, const PathName& b) { return a.path_ns > b.path_ns; });
    return found;
  }

 private:
  const DependencyGraph& graph() const { return dependencies_.graph(); }

  Status FindPieces(const StopSignal& stop) {
    const std::vector<uint32_t> path = graph().LongestPath();
    std::vector<PathPiece> of_host;
    for (const uint32_t i : path) {
      const Dependency& one = graph().dependencies()[i];
      PathPiece piece{graph().recorded()[one.from], graph().recorded()[one.to], one.kind};
      if (piece.begin_ns == piece.end_ns) continue;
      switch (one.kind) {
        case DependencyKind::kHost:
        case DependencyKind::kThread:
          piece.track = one.subject;
          break;
        case DependencyKind::kStart:
          break;
        case DependencyKind::kSync:
          piece.name = dependencies_.work().calls()[one.subject].name;
          piece.track = dependencies_.work().calls()[one.subject].track;
          break;
        case DependencyKind::kDevice:
        case DependencyKind::kStream:
        case DependencyKind::kGraph:
        case DependencyKind::kEvent:
        case DependencyKind::kLaunch:
          piece.name = dependencies_.work().work()[one.subject].name;
          piece.track = dependencies_.work().work()[one.subject].track;
          break;
      }
      if (one.kind != DependencyKind::kHost) {
        CountName(piece.kind, piece.name, piece.end_ns - piece.begin_ns, 1);
        pieces_.push_back(piece);
      } else if (!of_host.empty() && of_host.back().end_ns == piece.begin_ns && of_host.back().track == piece.track) {
        of_host.back().end_ns = piece.end_ns;
      } else {
        of_host.push_back(piece);
      }
    }
    RETURN_IF_ERROR(
        dependencies_.charge().Grow(static_cast<int64_t>((pieces_.size() + of_host.size()) * sizeof(PathPiece))));
    RETURN_IF_ERROR(NameHostPieces(of_host, stop));
    pieces_.insert(pieces_.end(), of_host.begin(), of_host.end());
    std::sort(pieces_.begin(), pieces_.end(),
              [](const PathPiece& a, const PathPiece& b) { return a.begin_ns < b.begin_ns; });
    return OkStatus();
  }

  void CountName(DependencyKind kind, int64_t name, int64_t ns, int64_t pieces) {
    PathName& of = names_[{kind, name}];
    of.kind = kind;
    of.name = name;
    of.path_ns += ns;
    of.pieces += pieces;
  }

  // In the order of time. Where the path is on a device for long, nothing is read.
  Status NameHostPieces(std::span<PathPiece> of_host, const StopSignal& stop) {
    const int64_t long_ns = total_ns_ / kMostStretchesRead;
    while (!of_host.empty()) {
      size_t end = 1;
      while (end < of_host.size() && of_host[end].begin_ns - of_host[end - 1].end_ns <= long_ns) ++end;
      RETURN_IF_ERROR(NameStretch(of_host.first(end), stop));
      of_host = of_host.subspan(end);
    }
    return OkStatus();
  }

  // Each after the slice that was the innermost one for most of it; counts all that were.
  Status NameStretch(std::span<PathPiece> of_host, const StopSignal& stop) {
    EventFilter filter;
    filter.from_ns = of_host.front().begin_ns;
    filter.to_ns = of_host.back().end_ns;
    std::sort(of_host.begin(), of_host.end(), [](const PathPiece& a, const PathPiece& b) {
      return std::tie(a.track, a.begin_ns) < std::tie(b.track, b.begin_ns);
    });
    for (const PathPiece& piece : of_host) {
      if (filter.tracks.empty() || filter.tracks.back() != piece.track) filter.tracks.push_back(piece.track);
    }
    MemoryCharge charge(traces_.take_memory());
    std::vector<PartSlice> slices;
    RETURN_IF_ERROR(ReadSlices(traces_.parts()[part_], filter, stop, charge, slices));
    SortByTrack(slices);
    InnermostSlices innermost(slices);
    struct Share {
      int64_t ns = 0;
      int64_t pieces = 0;
    };
    std::unordered_map<int64_t, Share> within;
    for (PathPiece& whole : of_host) {
      within.clear();
      for (int64_t at = whole.begin_ns; at < whole.end_ns;) {
        const InnermostSlices::Stretch stretch = innermost.At(whole.track, at);
        const int64_t end = std::min(whole.end_ns, stretch.until_ns);
        Share& share = within[stretch.slice == nullptr ? kNoValue : stretch.slice->name];
        share.ns += end - at;
        ++share.pieces;
        at = end;
      }
      int64_t most = -1;
      for (const auto& [name, share] : within) {
        CountName(DependencyKind::kHost, name, share.ns, share.pieces);
        if (std::pair(share.ns, name) > std::pair(most, whole.name)) {
          most = share.ns;
          whole.name = name;
        }
      }
    }
    return OkStatus();
  }

  const AnalysisTraces& traces_;
  const size_t part_;
  WorkDependencies& dependencies_;
  const int64_t total_ns_;
  std::vector<PathPiece> pieces_;
  std::map<std::pair<DependencyKind, int64_t>, PathName> names_;
};

}  // namespace

Result<PathPieces> FindPathPieces(const AnalysisTraces& traces, size_t part, WorkDependencies& dependencies,
                                  int64_t total_ns, const StopSignal& stop) {
  return PieceFinder(traces, part, dependencies, total_ns).Find(stop);
}

}  // namespace kprof

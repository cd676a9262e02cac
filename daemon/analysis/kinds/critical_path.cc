// The longest chain of things that had to wait for each other, and how much sooner all would end if some of it were
// faster. Docs: docs/analyses/critical-path.md.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/functions/dependencies/dependency_graph.h"
#include "daemon/analysis/functions/dependencies/work_dependencies.h"
#include "daemon/analysis/functions/device_scope.h"
#include "daemon/analysis/functions/host/innermost_slices.h"
#include "daemon/analysis/functions/launches/calls_and_work.h"
#include "daemon/analysis/functions/part_notes.h"
#include "daemon/analysis/operators/event_filter.h"
#include "daemon/analysis/operators/interval_sweep.h"
#include "daemon/analysis/operators/trace_part.h"
#include "storage/base/readable_text.h"

namespace kprof {
namespace {

enum PathTable : size_t { kPathKinds, kPathNames, kWhatIf, kPath };
constexpr size_t kMostNamesTried = 10;
constexpr int64_t kMostStretchesRead = 32;
constexpr double kTwice = 2;
constexpr std::string_view kNothingOpen = "(no slice)";

constexpr AnalysisOption kWhatIfOption[] = {
    {"faster", AnalysisType::kText, "", "",
     "What if: NAME=FACTOR; NAME (a kernel, operator or function; * and ? match any) takes a FACTORth of its time; "
     "several are joined by ;"},
};

// A change of a trace.
struct Change {
  std::string name;
  double factor = 1;
};

Result<std::vector<Change>> ReadChanges(const std::string& text) {
  const auto wrong = [&](std::string why) {
    return Fail(ErrorCode::kUsage, "read option faster", std::move(why), "give NAME=FACTOR, for example '*gemm*=2'");
  };
  std::vector<Change> changes;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(';', at), text.size());
    const std::string_view one = std::string_view(text).substr(at, end - at);
    at = end + 1;
    if (one.empty()) continue;
    const size_t sign = one.rfind('=');
    if (sign == one.npos || sign == 0) return wrong("'" + ReadableText(one) + "' is not NAME=FACTOR");
    Change change{std::string(one.substr(0, sign))};
    const std::string_view factor = one.substr(sign + 1);
    const auto [parsed, error] = std::from_chars(factor.data(), factor.data() + factor.size(), change.factor);
    const bool is_number = error == std::errc() && parsed == factor.data() + factor.size();
    if (!is_number || !std::isfinite(change.factor) || change.factor <= 0) {
      return wrong("'" + ReadableText(factor) + "' is not a factor above 0");
    }
    changes.push_back(std::move(change));
  }
  return changes;
}

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

int64_t Scaled(int64_t ns, double factor) {
  constexpr double kMost = 4e18;
  return static_cast<int64_t>(std::min(kMost, std::nearbyint(static_cast<double>(ns) / factor)));
}

class PartPath {
 public:
  PartPath(const AnalysisTraces& traces, size_t part, const DeviceScope& scope)
      : traces_(traces), part_(part), scope_(scope), reader_(*traces.parts()[part].reader) {}

  // False: no device worked.
  Result<bool> Find(const StopSignal& stop) {
    ASSIGN_OR_RETURN(dependencies_, WorkDependencies::Read(traces_, part_, scope_, stop));
    if (!dependencies_) return false;
    lengths_ = graph().Lengths();
    end_ns_ = graph().EndWith(lengths_);
    RETURN_IF_ERROR(FindPieces(stop));
    return true;
  }

  int64_t total_ns() const { return end_ns_ - graph().recorded()[DependencyGraph::kOrigin]; }
  // In the order of time; what a thread did between others is one.
  const std::vector<PathPiece>& pieces() const { return pieces_; }
  // All names on the path, the longest first.
  std::vector<PathName> names() const {
    std::vector<PathName> sorted;
    sorted.reserve(names_.size());
    for (const auto& [key, name] : names_) sorted.push_back(name);
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const PathName& a, const PathName& b) { return a.path_ns > b.path_ns; });
    return sorted;
  }
  const WorkDependencies& dependencies() const { return *dependencies_; }
  Result<std::string> NameOf(int64_t name) {
    if (name == kNoValue) return std::string(kNothingOpen);
    return reader_.ReadString(name);
  }
  const TrackRow* track(const PathPiece& piece) const {
    return piece.track < reader_.tracks().size() ? &reader_.tracks()[piece.track] : nullptr;
  }

  // How long all would take without any time of that kind.
  int64_t BoundOf(DependencyKind kind) const {
    std::vector<int64_t> lengths = lengths_;
    for (size_t i = 0; i < lengths.size(); ++i) {
      if (graph().dependencies()[i].kind == kind) lengths[i] = 0;
    }
    return graph().EndWith(lengths) - graph().recorded()[DependencyGraph::kOrigin];
  }

  struct Prediction {
    bool is_found = false;
    int64_t changed = 0;     // slices that it is about
    int64_t changed_ns = 0;  // their time, as recorded
    int64_t total_ns = 0;
  };

  Result<Prediction> Predict(std::span<const Change> changes, const StopSignal& stop) {
    RETURN_IF_ERROR(StillWanted(stop));
    Prediction prediction;
    std::vector<int64_t> lengths = lengths_;
    for (const Change& change : changes) {
      ASSIGN_OR_RETURN(const std::set<int64_t> names, FindNames(change.name));
      if (names.empty()) continue;
      MemoryCharge charge(traces_.take_memory());
      ASSIGN_OR_RETURN(const std::vector<PartSlice> slices, ReadHostSlices(names, stop, charge));
      Apply(names, change.factor, HostTimesOf(slices), lengths, prediction);
    }
    prediction.total_ns = graph().EndWith(lengths) - graph().recorded()[DependencyGraph::kOrigin];
    return prediction;
  }

  // How long all would take if the slices of one of these names took a `factor`th of their time, for each name alone.
  Result<std::vector<int64_t>> PredictEach(std::span<const int64_t> names, double factor, const StopSignal& stop) {
    MemoryCharge charge(traces_.take_memory());
    ASSIGN_OR_RETURN(const std::vector<PartSlice> slices, ReadHostSlices({names.begin(), names.end()}, stop, charge));
    std::unordered_map<int64_t, std::vector<PartSlice>> of_names;
    for (const PartSlice& slice : slices) of_names[slice.name].push_back(slice);
    std::vector<int64_t> totals;
    totals.reserve(names.size());
    for (const int64_t name : names) {
      RETURN_IF_ERROR(StillWanted(stop));
      Prediction prediction;
      std::vector<int64_t> lengths = lengths_;
      Apply({name}, factor, HostTimesOf(of_names[name]), lengths, prediction);
      totals.push_back(graph().EndWith(lengths) - graph().recorded()[DependencyGraph::kOrigin]);
    }
    return totals;
  }

 private:
  const DependencyGraph& graph() const { return dependencies_->graph(); }

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
          piece.name = dependencies_->work().calls()[one.subject].name;
          piece.track = dependencies_->work().calls()[one.subject].track;
          break;
        case DependencyKind::kDevice:
        case DependencyKind::kStream:
        case DependencyKind::kGraph:
        case DependencyKind::kEvent:
        case DependencyKind::kLaunch:
          piece.name = dependencies_->work().work()[one.subject].name;
          piece.track = dependencies_->work().work()[one.subject].track;
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
        dependencies_->charge().Grow(static_cast<int64_t>((pieces_.size() + of_host.size()) * sizeof(PathPiece))));
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
    const int64_t long_ns = total_ns() / kMostStretchesRead;
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

  // The numbers of this name, or of those that match it where nothing is called so.
  Result<std::set<int64_t>> FindNames(const std::string& name) {
    std::set<int64_t> names;
    ASSIGN_OR_RETURN(const std::optional<int64_t> same, reader_.FindString(name));
    if (same) {
      names.insert(*same);
    } else if (HasWildcards(name)) {
      RETURN_IF_ERROR(reader_.ForEachString([&](int64_t id, std::string_view text) {
        if (MatchesPattern(name, text)) names.insert(id);
        return true;
      }));
    }
    return names;
  }

  // The slices of threads that have one of these names, by track and begin.
  Result<std::vector<PartSlice>> ReadHostSlices(const std::set<int64_t>& names, const StopSignal& stop,
                                                MemoryCharge& charge) {
    std::unordered_set<std::string> texts;
    for (const int64_t name : names) {
      ASSIGN_OR_RETURN(std::string text, reader_.ReadString(name));
      texts.insert(std::move(text));
    }
    EventFilter filter;
    filter.accepts_name = [&](std::string_view name) { return texts.contains(std::string(name)); };
    for (const TrackRow& track : reader_.tracks()) {
      if (track.kind != "gpu_stream") filter.tracks.push_back(track.id);
    }
    std::vector<PartSlice> slices;
    if (filter.tracks.empty()) return slices;
    RETURN_IF_ERROR(ReadSlices(traces_.parts()[part_], filter, stop, charge, slices));
    SortByTrack(slices);
    return slices;
  }

  // The times in which slices are open.
  struct HostTimes {
    std::unordered_map<uint32_t, std::vector<Interval>> of_tracks;
    int64_t slices = 0;
    int64_t ns = 0;
  };

  // REQUIRES: SortByTrack.
  static HostTimes HostTimesOf(std::span<const PartSlice> slices) {
    HostTimes times{.slices = static_cast<int64_t>(slices.size())};
    for (const PartSlice& slice : slices) {
      std::vector<Interval>& open = times.of_tracks[slice.track];
      if (!open.empty() && slice.begin_ns <= open.back().end_ns) {
        if (slice.end_ns <= open.back().end_ns) continue;
        times.ns += slice.end_ns - open.back().end_ns;
        open.back().end_ns = slice.end_ns;
      } else {
        times.ns += slice.end_ns - slice.begin_ns;
        open.push_back({slice.begin_ns, slice.end_ns});
      }
    }
    return times;
  }

  void Apply(const std::set<int64_t>& names, double factor, const HostTimes& of_host, std::vector<int64_t>& lengths,
             Prediction& prediction) const {
    const std::vector<PartSlice>& work = dependencies_->work().work();
    const int64_t only = names.size() == 1 ? *names.begin() : kNoValue;
    prediction.is_found |= of_host.slices > 0;
    prediction.changed += of_host.slices;
    prediction.changed_ns = SaturatingSum(prediction.changed_ns, of_host.ns);
    for (size_t i = 0; i < lengths.size(); ++i) {
      const Dependency& one = graph().dependencies()[i];
      if (one.kind == DependencyKind::kDevice) {
        const int64_t name = work[one.subject].name;
        if (only != kNoValue ? name != only : !names.contains(name)) continue;
        prediction.is_found = true;
        // Of work that overlaps the next on its stream there is a second dependency.
        if (graph().recorded()[one.to] == work[one.subject].end_ns) {
          ++prediction.changed;
          prediction.changed_ns = SaturatingSum(prediction.changed_ns, lengths_[i]);
        }
        lengths[i] = Scaled(lengths[i], factor);
      } else if (one.kind == DependencyKind::kHost && lengths_[i] > 0 && of_host.slices > 0) {
        const auto found = of_host.of_tracks.find(one.subject);
        if (found == of_host.of_tracks.end()) continue;
        const int64_t from = graph().recorded()[one.from];
        const int64_t to = graph().recorded()[one.to];
        // A call that waited has less time of its own than lies between its points.
        const int64_t within = std::min(TimeWithin(found->second, from, to), lengths_[i]);
        lengths[i] += Scaled(within, factor) - within;
        lengths[i] = std::max<int64_t>(lengths[i], 0);
      }
    }
  }

  static int64_t TimeWithin(const std::vector<Interval>& open, int64_t from_ns, int64_t to_ns) {
    int64_t within = 0;
    auto at = std::upper_bound(open.begin(), open.end(), from_ns,
                               [](int64_t time, const Interval& one) { return time < one.end_ns; });
    for (; at != open.end() && at->begin_ns < to_ns; ++at) {
      within += std::min(at->end_ns, to_ns) - std::max(at->begin_ns, from_ns);
    }
    return within;
  }

  const AnalysisTraces& traces_;
  const size_t part_;
  const DeviceScope& scope_;
  PartReader& reader_;
  std::optional<WorkDependencies> dependencies_;
  std::vector<int64_t> lengths_;
  int64_t end_ns_ = 0;
  std::vector<PathPiece> pieces_;
  std::map<std::pair<DependencyKind, int64_t>, PathName> names_;
};

class PathAnswer {
 public:
  PathAnswer(const AnalysisTraces& traces, size_t part, PartPath& path, AnalysisAnswer& answer)
      : traces_(traces), part_(part), path_(path), answer_(answer) {}

  Status AddKinds() {
    std::array<int64_t, kDependencyKinds> ns{};
    std::array<int64_t, kDependencyKinds> pieces{};
    for (const PathPiece& piece : path_.pieces()) {
      ns[static_cast<size_t>(piece.kind)] += piece.end_ns - piece.begin_ns;
      ++pieces[static_cast<size_t>(piece.kind)];
    }
    std::vector<size_t> order;
    for (size_t i = 0; i < kDependencyKinds; ++i) {
      if (ns[i] > 0) order.push_back(i);
    }
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return ns[a] > ns[b]; });
    for (const size_t i : order) {
      const auto kind = static_cast<DependencyKind>(i);
      const int64_t bound = path_.BoundOf(kind);
      RETURN_IF_ERROR(answer_.AddRow(
          kPathKinds, RowOf(std::string(DependencyKindName(kind)), ns[i], PercentOf(ns[i], path_.total_ns()),
                            path_.total_ns() - bound, bound, pieces[i], path_.total_ns())));
    }
    return OkStatus();
  }

  Status AddNames(const StopSignal& stop) {
    const std::vector<PathName> names = path_.names();
    std::vector<size_t> tried;
    for (size_t i = 0; i < names.size() && tried.size() < kMostNamesTried; ++i) {
      const bool has_time = names[i].kind == DependencyKind::kDevice || names[i].kind == DependencyKind::kHost;
      if (has_time && names[i].name != kNoValue) tried.push_back(i);
    }
    std::vector<int64_t> numbers;
    numbers.reserve(tried.size());
    for (const size_t i : tried) numbers.push_back(names[i].name);
    ASSIGN_OR_RETURN(const std::vector<int64_t> predicted, path_.PredictEach(numbers, kTwice, stop));
    size_t next = 0;
    for (size_t i = 0; i < std::min(names.size(), RowsOfPart(traces_)); ++i) {
      const PathName& of = names[i];
      ASSIGN_OR_RETURN(std::string name, path_.NameOf(of.name));
      AnalysisValue saves;
      if (next < tried.size() && tried[next] == i) saves = path_.total_ns() - predicted[next++];
      RETURN_IF_ERROR(answer_.AddRow(
          kPathNames, RowOf(std::string(DependencyKindName(of.kind)), NameValue(of.kind, of.name, std::move(name)),
                            of.path_ns, PercentOf(of.path_ns, path_.total_ns()), saves, of.pieces)));
    }
    return OkStatus();
  }

  // False: nothing has such a name.
  Result<bool> AddWhatIf(const std::string& text, std::span<const Change> changes, const StopSignal& stop) {
    ASSIGN_OR_RETURN(const PartPath::Prediction prediction, path_.Predict(changes, stop));
    if (!prediction.is_found) return false;
    const int64_t saves = path_.total_ns() - prediction.total_ns;
    RETURN_IF_ERROR(answer_.AddRow(kWhatIf, RowOf(text, saves, PercentOf(saves, path_.total_ns()), prediction.total_ns,
                                                  path_.total_ns(), prediction.changed, prediction.changed_ns)));
    return true;
  }

  // The longest pieces, where there are more than are read.
  Status AddPath() {
    const size_t most = RowsOfPart(traces_);
    int64_t least_ns = 0;
    if (path_.pieces().size() > most) {
      std::vector<int64_t> lengths;
      lengths.reserve(path_.pieces().size());
      for (const PathPiece& piece : path_.pieces()) lengths.push_back(piece.end_ns - piece.begin_ns);
      std::nth_element(lengths.begin(), lengths.begin() + static_cast<ptrdiff_t>(most), lengths.end(),
                       std::greater<>());
      least_ns = lengths[most] + 1;
      answer_.AddNote("path: of " + traces_.NameOf(part_) + " the longest of " + std::to_string(path_.pieces().size()) +
                      " pieces; --step, or --from and --to, ask for all of a stretch");
    }
    for (const PathPiece& piece : path_.pieces()) {
      if (piece.end_ns - piece.begin_ns < least_ns) continue;
      ASSIGN_OR_RETURN(std::string name, path_.NameOf(piece.name));
      const TrackRow* track = path_.track(piece);
      RETURN_IF_ERROR(answer_.AddRow(
          kPath, RowOf(piece.begin_ns, piece.end_ns - piece.begin_ns, std::string(DependencyKindName(piece.kind)),
                       NameValue(piece.kind, piece.name, std::move(name)),
                       track == nullptr ? AnalysisValue() : AnalysisValue(track->name))));
    }
    return OkStatus();
  }

  void AddNotes() {
    const WorkDependencies& of = path_.dependencies();
    if (of.unlaunched() > 0) {
      answer_.AddNote(traces_.NameOf(part_) + ": the launch of " + std::to_string(of.unlaunched()) +
                      " kernels, copies and fills is not in the trace");
    }
    if (of.assumed_events() > 0) {
      answer_.AddNote(traces_.NameOf(part_) + ": it does not tell which events streams wait for; " +
                      std::to_string(of.assumed_events()) +
                      " such waits follow the order of the calls, and the times of the work");
    }
    if (of.unknown_events() > 0) {
      answer_.AddNote(traces_.NameOf(part_) + ": it does not tell what streams waited for, " +
                      std::to_string(of.unknown_events()) + (of.unknown_events() == 1 ? " time" : " times"));
    }
    if (of.graph().left_out() > 0) {
      answer_.AddNote(traces_.NameOf(part_) + ": " + std::to_string(of.graph().left_out()) +
                      " dependencies go back in time, and are left out");
    }
  }

 private:
  // Only time of the host may be nobody's.
  static AnalysisValue NameValue(DependencyKind kind, int64_t number, std::string name) {
    return number == kNoValue && kind != DependencyKind::kHost ? AnalysisValue() : AnalysisValue(std::move(name));
  }

  // The path has ten thousand names of hundreds of letters: they are moved.
  template <typename... Values>
  AnalysisAnswer::Row RowOf(Values&&... values) const {
    AnalysisAnswer::Row row;
    row.reserve(2 + sizeof...(values));
    row.push_back(traces_.run(part_));
    row.push_back(ValueOf(traces_.parts()[part_].rank));
    (row.push_back(AnalysisValue(std::forward<Values>(values))), ...);
    return row;
  }

  const AnalysisTraces& traces_;
  const size_t part_;
  PartPath& path_;
  AnalysisAnswer& answer_;
};

Result<AnalysisAnswer> AnswerCriticalPath(const AnalysisTraces& traces, const AnalysisOptions& options,
                                          const StopSignal& stop) {
  AnalysisAnswer answer(traces);
  const std::string& faster = options.text("faster");
  ASSIGN_OR_RETURN(const std::vector<Change> changes, ReadChanges(faster));
  ASSIGN_OR_RETURN(const DeviceScope scope, DeviceScope::Make(traces, options, stop));
  bool has_work = false;
  bool is_found = false;
  for (size_t part = 0; part < traces.parts().size(); ++part) {
    if (scope.never(part)) continue;
    PartPath path(traces, part, scope);
    ASSIGN_OR_RETURN(const bool has, path.Find(stop));
    if (!has) continue;
    has_work = true;
    PathAnswer rows(traces, part, path, answer);
    RETURN_IF_ERROR(rows.AddKinds());
    RETURN_IF_ERROR(rows.AddNames(stop));
    if (!changes.empty()) {
      ASSIGN_OR_RETURN(const bool found, rows.AddWhatIf(faster, changes, stop));
      is_found |= found;
    }
    RETURN_IF_ERROR(rows.AddPath());
    rows.AddNotes();
  }
  if (!has_work) {
    answer.AddNote("no kernels: nothing ran on a device in what was asked for, so nothing waits for one");
  } else if (!changes.empty() && !is_found) {
    return Fail(ErrorCode::kUsage, "answer what if '" + ReadableText(faster) + "'", "nothing has such a name",
                "table names has those on the path; * and ? match any");
  }
  return answer;
}

}  // namespace

AnalysisKind CriticalPath() {
  using enum AnalysisType;
  constexpr AnalysisColumn kRun = {"run", kText, "", "The run", true};
  constexpr AnalysisColumn kRank = {"rank", kInteger, "", "The rank; null where nobody knows it"};
  constexpr AnalysisColumn kKind = {"kind", kText, "",
                                    "device, launch, stream, graph, event, sync, thread, host or start"};
  return {.name = "critical-path",
          .version = 1,
          .question = "Which chain of work determines how long it takes, and what would a faster kernel save?",
          .options = {kTraceScope, kWhatIfOption},
          .tables = {{"kinds",
                      {kRun,
                       kRank,
                       kKind,
                       {"path_ns", kInteger, "ns", "How much of the path is of this kind"},
                       {"percent", kReal, "percent", "Of the path"},
                       {"saves_ns", kInteger, "ns", "What it would save if all of this kind took no time"},
                       {"bound_ns", kInteger, "ns", "How long the whole would take then"},
                       {"pieces", kInteger, "", "In how many pieces of the path"},
                       {"total_ns", kInteger, "ns", "The whole: the length of the path"}}},
                     {"names",
                      {kRun,
                       kRank,
                       kKind,
                       {"name", kText, "", "The work; of host the innermost slice; of sync the call"},
                       {"path_ns", kInteger, "ns", "How much of the path it is"},
                       {"percent", kReal, "percent", "Of the path"},
                       {"saves_ns", kInteger, "ns", "What it would save if it were twice as fast; of the first ten"},
                       {"pieces", kInteger, "", "In how many pieces of the path"}}},
                     {"what_if",
                      {kRun,
                       kRank,
                       {"change", kText, "", "What is faster, as it was asked"},
                       {"saves_ns", kInteger, "ns", "By how much sooner all ends"},
                       {"saves_percent", kReal, "percent", "Of the whole"},
                       {"predicted_ns", kInteger, "ns", "How long the whole takes then"},
                       {"total_ns", kInteger, "ns", "How long it takes as recorded"},
                       {"changed", kInteger, "", "How many slices are faster"},
                       {"changed_ns", kInteger, "ns", "Their time as recorded, added up"}}},
                     {"path",
                      {kRun,
                       kRank,
                       {"start_ns", kInteger, "ns", "Its begin"},
                       {"duration_ns", kInteger, "ns", "Its length"},
                       kKind,
                       {"name", kText, "", "As in table names; of host the innermost slice of most of it"},
                       {"track", kText, "", "The stream or the thread"}}}},
          .answer = &AnswerCriticalPath};
}

}  // namespace kprof

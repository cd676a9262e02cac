// The longest chain of things that had to wait for each other, and how much sooner all would end if some of it were
// faster. Docs: docs/analyses/critical-path.md.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/functions/dependencies/dependency_graph.h"
#include "daemon/analysis/functions/dependencies/path_pieces.h"
#include "daemon/analysis/functions/dependencies/what_if.h"
#include "daemon/analysis/functions/dependencies/work_dependencies.h"
#include "daemon/analysis/functions/device_scope.h"
#include "daemon/analysis/functions/part_notes.h"
#include "storage/base/readable_text.h"

namespace kprof {
namespace {

enum PathTable : size_t { kPathKinds, kPathNames, kWhatIf, kPath };
constexpr size_t kMostNamesTried = 10;
constexpr double kTwice = 2;
constexpr std::string_view kNothingOpen = "(no slice)";

constexpr AnalysisOption kWhatIfOption[] = {
    {"faster", AnalysisType::kText, "", "",
     "What if: NAME=FACTOR; NAME (a kernel, operator or function; * and ? match any) takes a FACTORth of its time; "
     "several are joined by ;"},
};

class PathAnswer {
 public:
  PathAnswer(const AnalysisTraces& traces, size_t part, const WorkDependencies& dependencies, const WhatIf& what_if,
             const PathPieces& path, AnalysisAnswer& answer)
      : traces_(traces),
        part_(part),
        reader_(*traces.parts()[part].reader),
        dependencies_(dependencies),
        what_if_(what_if),
        total_ns_(what_if.total_ns()),
        path_(path),
        answer_(answer) {}

  Status AddKinds() {
    std::array<int64_t, kDependencyKinds> ns{};
    std::array<int64_t, kDependencyKinds> pieces{};
    for (const PathPiece& piece : path_.pieces) {
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
      const int64_t bound = what_if_.BoundOf(kind);
      RETURN_IF_ERROR(
          answer_.AddRow(kPathKinds, RowOf(std::string(DependencyKindName(kind)), ns[i], PercentOf(ns[i], total_ns_),
                                           total_ns_ - bound, bound, pieces[i], total_ns_)));
    }
    return OkStatus();
  }

  Status AddNames(const StopSignal& stop) {
    const std::vector<PathName>& names = path_.names;
    std::vector<size_t> tried;
    for (size_t i = 0; i < names.size() && tried.size() < kMostNamesTried; ++i) {
      const bool has_time = names[i].kind == DependencyKind::kDevice || names[i].kind == DependencyKind::kHost;
      if (has_time && names[i].name != kNoValue) tried.push_back(i);
    }
    std::vector<int64_t> numbers;
    numbers.reserve(tried.size());
    for (const size_t i : tried) numbers.push_back(names[i].name);
    ASSIGN_OR_RETURN(const std::vector<int64_t> predicted, what_if_.PredictEach(numbers, kTwice, stop));
    size_t next = 0;
    for (size_t i = 0; i < std::min(names.size(), RowsOfPart(traces_)); ++i) {
      const PathName& of = names[i];
      ASSIGN_OR_RETURN(std::string name, NameOf(of.name));
      AnalysisValue saves;
      if (next < tried.size() && tried[next] == i) saves = total_ns_ - predicted[next++];
      RETURN_IF_ERROR(answer_.AddRow(
          kPathNames, RowOf(std::string(DependencyKindName(of.kind)), NameValue(of.kind, of.name, std::move(name)),
                            of.path_ns, PercentOf(of.path_ns, total_ns_), saves, of.pieces)));
    }
    return OkStatus();
  }

  // False: nothing has such a name.
  Result<bool> AddWhatIf(const std::string& text, std::span<const WhatIfChange> changes, const StopSignal& stop) {
    ASSIGN_OR_RETURN(const WhatIf::Prediction prediction, what_if_.Predict(changes, stop));
    if (!prediction.is_found) return false;
    const int64_t saves = total_ns_ - prediction.total_ns;
    RETURN_IF_ERROR(answer_.AddRow(kWhatIf, RowOf(text, saves, PercentOf(saves, total_ns_), prediction.total_ns,
                                                  total_ns_, prediction.changed, prediction.changed_ns)));
    return true;
  }

  // The longest pieces, where there are more than are read.
  Status AddPath() {
    const size_t most = RowsOfPart(traces_);
    int64_t least_ns = 0;
    if (path_.pieces.size() > most) {
      std::vector<int64_t> lengths;
      lengths.reserve(path_.pieces.size());
      for (const PathPiece& piece : path_.pieces) lengths.push_back(piece.end_ns - piece.begin_ns);
      std::nth_element(lengths.begin(), lengths.begin() + static_cast<ptrdiff_t>(most), lengths.end(),
                       std::greater<>());
      least_ns = lengths[most] + 1;
      answer_.AddNote("path: of " + traces_.NameOf(part_) + " the longest of " + std::to_string(path_.pieces.size()) +
                      " pieces; --step, or --from and --to, ask for all of a stretch");
    }
    for (const PathPiece& piece : path_.pieces) {
      if (piece.end_ns - piece.begin_ns < least_ns) continue;
      ASSIGN_OR_RETURN(std::string name, NameOf(piece.name));
      const TrackRow* track = piece.track < reader_.tracks().size() ? &reader_.tracks()[piece.track] : nullptr;
      RETURN_IF_ERROR(answer_.AddRow(
          kPath, RowOf(piece.begin_ns, piece.end_ns - piece.begin_ns, std::string(DependencyKindName(piece.kind)),
                       NameValue(piece.kind, piece.name, std::move(name)),
                       track == nullptr ? AnalysisValue() : AnalysisValue(track->name))));
    }
    return OkStatus();
  }

  void AddNotes() {
    const WorkDependencies& of = dependencies_;
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
  Result<std::string> NameOf(int64_t name) const {
    if (name == kNoValue) return std::string(kNothingOpen);
    return reader_.ReadString(name);
  }

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
  PartReader& reader_;
  const WorkDependencies& dependencies_;
  const WhatIf& what_if_;
  const int64_t total_ns_;
  const PathPieces& path_;
  AnalysisAnswer& answer_;
};

Result<AnalysisAnswer> AnswerCriticalPath(const AnalysisTraces& traces, const AnalysisOptions& options,
                                          const StopSignal& stop) {
  AnalysisAnswer answer(traces);
  const std::string& faster = options.text("faster");
  ASSIGN_OR_RETURN(const std::vector<WhatIfChange> changes, ReadChanges(faster));
  ASSIGN_OR_RETURN(const DeviceScope scope, DeviceScope::Make(traces, options, stop));
  bool has_work = false;
  bool is_found = false;
  for (size_t part = 0; part < traces.parts().size(); ++part) {
    if (scope.never(part)) continue;
    ASSIGN_OR_RETURN(std::optional<WorkDependencies> dependencies, WorkDependencies::Read(traces, part, scope, stop));
    if (!dependencies) continue;
    has_work = true;
    const WhatIf what_if(traces, part, *dependencies);
    ASSIGN_OR_RETURN(const PathPieces path, FindPathPieces(traces, part, *dependencies, what_if.total_ns(), stop));
    PathAnswer rows(traces, part, *dependencies, what_if, path, answer);
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

// Which kernels follow each other again and again on a stream: candidates for fusion, and for a CUDA graph. Docs:
// docs/analyses/sequences.md.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/functions/device_scope.h"
#include "daemon/analysis/functions/kernel_sequences.h"
#include "daemon/analysis/functions/part_notes.h"
#include "daemon/analysis/operators/part_filter.h"
#include "daemon/analysis/operators/slice_columns.h"
#include "storage/base/memory_charge.h"
#include "storage/trace_sql/tables/strict_json.h"

namespace kprof {
namespace {

constexpr int64_t kMostSequenceLength = 256;

constexpr AnalysisOption kSequenceOptions[] = {
    {"least-length", AnalysisType::kInteger, "2", "", "Only sequences of so many kernels or more", "", 2},
    {"most-length", AnalysisType::kInteger, "64", "", "Only sequences of so many kernels or fewer, up to 256", "", 2,
     false, kMostSequenceLength},
    {"least-count", AnalysisType::kInteger, "3", "", "Only sequences that occur so often or more", "", 2},
};

// The work of each track, in the order of time.
Result<std::map<uint32_t, std::vector<SequenceSlice>>> ReadSequenceStreams(const TracePart& part,
                                                                           const EventFilter& filter,
                                                                           MemoryCharge& charge,
                                                                           const StopSignal& stop) {
  std::map<uint32_t, std::vector<SequenceSlice>> streams;
  ASSIGN_OR_RETURN(const PartFilter bound, PartFilter::Bind(filter, part, EventKind::kSlice));
  if (bound.never()) return streams;
  SliceColumns read(*part.reader);
  RETURN_IF_ERROR(bound.ForEach(stop, [&](const Segment& segment, const RowSelection& selection) -> Status {
    RETURN_IF_ERROR(read.Read(segment, selection));
    RETURN_IF_ERROR(charge.Grow(static_cast<int64_t>(read.size() * (sizeof(SequenceSlice) + kBytesOfSequenceSlice))));
    for (size_t i = 0; i < read.size(); ++i) {
      streams[read.track(i)].push_back({read.begin_ns(i), read.end_ns(i), read.name(i)});
    }
    return OkStatus();
  }));
  for (auto& [track, slices] : streams) {
    std::stable_sort(slices.begin(), slices.end(),
                     [](const SequenceSlice& a, const SequenceSlice& b) { return a.begin_ns < b.begin_ns; });
  }
  return streams;
}

struct SequenceOfPart {
  size_t part = 0;
  uint32_t track = 0;
  KernelSequence sequence;
  int64_t all_ns = 0;  // of the stream
  int64_t first_ns = 0;
  std::string kernels;
};

Result<AnalysisAnswer> AnswerSequences(const AnalysisTraces& traces, const AnalysisOptions& options,
                                       const StopSignal& stop) {
  AnalysisAnswer answer(traces);
  const SequenceBounds bounds = {static_cast<size_t>(*options.integer("least-length")),
                                 static_cast<size_t>(*options.integer("most-length")), *options.integer("least-count")};
  if (bounds.least_length > bounds.most_length) {
    return Fail(ErrorCode::kUsage, "find sequences", "least-length is more than most-length",
                "give a smaller least-length");
  }
  ASSIGN_OR_RETURN(const DeviceScope scope, DeviceScope::Make(traces, options, stop));
  std::vector<SequenceOfPart> found;
  bool has_work = false;
  PartNotes notes;
  for (size_t part = 0; part < traces.parts().size(); ++part) {
    if (scope.never(part)) continue;
    MemoryCharge charge(traces.take_memory());
    PartReader& reader = *traces.parts()[part].reader;
    ASSIGN_OR_RETURN(const auto streams, ReadSequenceStreams(traces.parts()[part], scope.WorkOf(part), charge, stop));
    for (const auto& [track, slices] : streams) {
      has_work = true;
      ASSIGN_OR_RETURN(const FoundSequences of_stream, FindSequences(slices, bounds, stop));
      bool is_cut = false;
      for (const KernelSequence& sequence : of_stream.sequences) {
        is_cut |= sequence.is_cut;
        std::string kernels = "[";
        for (size_t i = sequence.first; i < sequence.first + sequence.length; ++i) {
          ASSIGN_OR_RETURN(const std::string name, reader.ReadString(slices[i].name));
          if (i > sequence.first) kernels += ',';
          AppendStrictText(name, kernels);
        }
        found.push_back({part, track, sequence, of_stream.sum_ns, slices[sequence.first].begin_ns, kernels + "]"});
      }
      if (is_cut) {
        notes.Add(part, "sequences of " + std::to_string(bounds.most_length) +
                            " kernels are pieces of longer ones, cut by option most-length; up to " +
                            std::to_string(kMostSequenceLength) + " can be asked for");
      }
    }
  }
  std::stable_sort(found.begin(), found.end(), [](const SequenceOfPart& a, const SequenceOfPart& b) {
    return a.sequence.kernel_ns > b.sequence.kernel_ns;
  });
  for (const SequenceOfPart& one : found) {
    const TrackRow& track = traces.parts()[one.part].reader->tracks()[one.track];
    const KernelSequence& sequence = one.sequence;
    const auto count = static_cast<double>(sequence.count);
    RETURN_IF_ERROR(answer.AddRow(
        0, {traces.run(one.part), ValueOf(traces.parts()[one.part].rank), ValueOf(track.device), ValueOf(track.stream),
            static_cast<int64_t>(sequence.length), sequence.count, sequence.kernel_ns, sequence.gap_ns,
            PercentOf(sequence.kernel_ns, one.all_ns), one.kernels, static_cast<double>(sequence.covered_ns()) / count,
            static_cast<double>(sequence.kernel_ns) / (count * static_cast<double>(sequence.length)), one.first_ns}));
  }
  notes.AddTo(traces, answer);
  if (!has_work) {
    answer.AddNote("no kernels: nothing ran on a device in what was asked for");
  } else if (found.empty()) {
    answer.AddNote("no sequence of " + std::to_string(bounds.least_length) + " kernels or more occurs " +
                   std::to_string(bounds.least_count) + " times on a stream");
  }
  return answer;
}

}  // namespace

AnalysisKind Sequences() {
  using enum AnalysisType;
  return {.name = "sequences",
          .version = 1,
          .question = "Which kernels follow each other again and again: candidates for fusion and for a CUDA graph?",
          .options = {kTraceScope, kSequenceOptions},
          .tables = {{"sequences",
                      {{"run", kText, "", "The run", true},
                       {"rank", kInteger, "", "The rank; null where nobody knows it"},
                       {"device", kInteger, "", "The device"},
                       {"stream", kInteger, "", "The stream"},
                       {"length", kInteger, "", "How many kernels and copies it is"},
                       {"count", kInteger, "", "How often it occurs; occurrences do not overlap"},
                       {"kernel_ns", kInteger, "ns", "How long they ran in all occurrences, added up"},
                       {"gap_ns", kInteger, "ns", "How long the stream stood still between them, in all occurrences"},
                       {"percent", kReal, "percent", "kernel_ns of all work of the stream"},
                       {"kernels", kJson, "", "Their names, in order"},
                       {"mean_ns", kReal, "ns", "kernel_ns and gap_ns of one occurrence"},
                       {"mean_kernel_ns", kReal, "ns", "Of one kernel"},
                       {"first_ns", kInteger, "ns", "Where the first occurrence begins"}}}},
          .answer = &AnswerSequences};
}

}  // namespace kprof

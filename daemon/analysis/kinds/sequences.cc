// Which kernels follow each other again and again on a stream: candidates for fusion, and for a CUDA graph. Docs:
// docs/analyses/sequences.md.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/functions/device_scope.h"
#include "daemon/analysis/operators/part_filter.h"
#include "daemon/analysis/operators/row_indexes.h"
#include "storage/base/memory_charge.h"
#include "storage/trace_sql/tables/strict_json.h"

namespace kprof {
namespace {

constexpr size_t kMostSequenceLength = 64;
constexpr size_t kMostSequences = 20;  // of a stream
constexpr size_t kMostOfLength = 64;   // candidates
constexpr size_t kMostLookedAt = 400;  // candidates of a stream
constexpr uint64_t kSequenceMultiplier = 0x9e3779b97f4a7c15ULL;

constexpr AnalysisOption kSequenceOptions[] = {
    {"least-length", AnalysisType::kInteger, "2", "", "Only sequences of so many kernels or more", "", 2},
    {"most-length", AnalysisType::kInteger, "16", "", "Only sequences of so many kernels or fewer, up to 64", "", 2},
    {"least-count", AnalysisType::kInteger, "3", "", "Only sequences that occur so often or more", "", 2},
};

struct StreamSlice {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  int64_t name = 0;
};

struct Sequence {
  size_t first = 0;  // of the stream's slices: where it occurs first
  size_t length = 0;
  int64_t count = 0;
  int64_t kernel_ns = 0;
  int64_t gap_ns = 0;

  int64_t covered_ns() const { return SaturatingSum(kernel_ns, gap_ns); }
};

// Of the places at which a loop can be begun, that with the smallest gaps inside comes first.
bool IsBetterSequence(const Sequence& a, const Sequence& b) {
  return std::tuple(-a.kernel_ns, a.gap_ns, a.length, a.first) < std::tuple(-b.kernel_ns, b.gap_ns, b.length, b.first);
}

struct SequenceBounds {
  size_t least_length = 0;
  size_t most_length = 0;
  int64_t least_count = 0;
};

// The slices of one stream. Occurrences of a sequence do not overlap each other: they are taken as they come.
class StreamSequences {
 public:
  StreamSequences(const std::vector<StreamSlice>& slices, const SequenceBounds& bounds)
      : slices_(slices), bounds_(bounds) {
    const size_t rows = slices.size();
    sums_.assign(rows + 1, 0);
    gaps_.assign(rows + 1, 0);
    int64_t end = INT64_MIN;
    for (size_t i = 0; i < rows; ++i) {
      // gaps_[i]: all gaps before the slice i.
      const int64_t gap = i > 0 && slices[i].begin_ns > end ? slices[i].begin_ns - end : 0;
      gaps_[i] = SaturatingSum(i > 0 ? gaps_[i - 1] : 0, gap);
      end = std::max(end, slices[i].end_ns);
      sums_[i + 1] = SaturatingSum(sums_[i], slices[i].end_ns - slices[i].begin_ns);
    }
  }

  // Bytes for each slice, of all that it holds.
  static constexpr size_t kBytesOfSlice = 128;

  Result<std::vector<Sequence>> Find(const StopSignal& stop) {
    std::vector<Sequence> candidates;
    NumberNames();
    for (size_t length = 2; length <= bounds_.most_length && length <= slices_.size(); ++length) {
      RETURN_IF_ERROR(StillWanted(stop));
      if (!Count(length)) break;
      if (length >= bounds_.least_length) AddCandidates(length, candidates);
    }
    std::stable_sort(candidates.begin(), candidates.end(), IsBetterSequence);
    return Choose(candidates, stop);
  }

  int64_t sum_ns() const { return sums_.back(); }

 private:
  static constexpr uint32_t kNotFrequent = UINT32_MAX;

  // A sequence of the length that is counted.
  struct Entry {
    size_t first = 0;
    size_t next = 0;  // the next occurrence begins here or later
    int64_t count = 0;
    int64_t kernel_ns = 0;
    int64_t gap_ns = 0;
  };
  // Of a hash table; a pair of numbers is the key.
  struct Place {
    uint64_t key = UINT64_MAX;  // UINT64_MAX: it is free
    uint32_t number = 0;
  };

  void NumberNames() {
    std::unordered_map<int64_t, uint32_t> of_names;
    for (const StreamSlice& slice : slices_) {
      const auto next = static_cast<uint32_t>(of_names.size());
      numbers_.push_back(of_names.try_emplace(slice.name, next).first->second);
    }
  }

  bool IsSame(size_t a, size_t b, size_t length) const {
    for (size_t i = 0; i < length; ++i) {
      if (slices_[a + i].name != slices_[b + i].name) return false;
    }
    return true;
  }

  int64_t KernelsOf(size_t first, size_t length) const { return sums_[first + length] - sums_[first]; }
  int64_t GapsOf(size_t first, size_t length) const { return gaps_[first + length - 1] - gaps_[first]; }

  // Counts all sequences of that length that begin and end with a frequent one of one kernel less: those two say what
  // it is. False: none is frequent.
  bool Count(size_t length) {
    const size_t last = slices_.size() - length;
    const auto is_asked = [&](size_t i) { return numbers_[i] != kNotFrequent && numbers_[i + 1] != kNotFrequent; };
    size_t asked = 0;
    for (size_t i = 0; i <= last; ++i) asked += is_asked(i) ? 1 : 0;
    size_t places = 16;
    int shift = 60;
    for (; places < 2 * asked; places *= 2) --shift;
    places_.assign(places, Place());
    entries_.clear();
    for (size_t i = 0; i <= last; ++i) {
      if (!is_asked(i)) {
        numbers_[i] = kNotFrequent;
        continue;
      }
      const uint64_t key = uint64_t{numbers_[i]} << 32 | numbers_[i + 1];
      size_t place = key * kSequenceMultiplier >> shift;
      while (places_[place].key != key && places_[place].key != UINT64_MAX) place = (place + 1) & (places - 1);
      if (places_[place].key == UINT64_MAX) {
        places_[place] = {key, static_cast<uint32_t>(entries_.size())};
        entries_.push_back({.first = i});
      }
      numbers_[i] = places_[place].number;  // that of one kernel less is not needed from here on
      Entry& entry = entries_[numbers_[i]];
      if (i < entry.next) continue;
      entry.next = i + length;
      ++entry.count;
      entry.kernel_ns += KernelsOf(i, length);
      entry.gap_ns += GapsOf(i, length);
    }
    bool is_any = false;
    for (size_t i = 0; i < slices_.size(); ++i) {
      if (i > last || (numbers_[i] != kNotFrequent && entries_[numbers_[i]].count < bounds_.least_count)) {
        numbers_[i] = kNotFrequent;
      }
      is_any |= numbers_[i] != kNotFrequent;
    }
    return is_any;
  }

  // True if it is a shorter sequence several times over, which stands for itself.
  bool IsRepeated(size_t first, size_t length) const {
    for (size_t period = bounds_.least_length; period * 2 <= length; ++period) {
      if (length % period == 0 && IsSame(first, first + period, length - period)) return true;
    }
    return false;
  }

  void AddCandidates(size_t length, std::vector<Sequence>& candidates) const {
    std::vector<Sequence> found;
    for (const Entry& entry : entries_) {
      if (entry.count < bounds_.least_count) continue;
      if (IsRepeated(entry.first, length)) continue;
      found.push_back({entry.first, length, entry.count, entry.kernel_ns, entry.gap_ns});
    }
    std::sort(found.begin(), found.end(), IsBetterSequence);
    if (found.size() > kMostOfLength) found.resize(kMostOfLength);
    candidates.insert(candidates.end(), found.begin(), found.end());
  }

  // Those that say something new: half of their occurrences or more are in no sequence chosen before.
  Result<std::vector<Sequence>> Choose(const std::vector<Sequence>& candidates, const StopSignal& stop) {
    std::vector<Sequence> chosen;
    std::vector<uint8_t> is_taken(slices_.size(), 0);
    size_t looked_at = 0;
    for (const Sequence& candidate : candidates) {
      if (chosen.size() == kMostSequences || looked_at++ == kMostLookedAt) break;
      RETURN_IF_ERROR(StillWanted(stop));
      std::vector<size_t> places;
      int64_t news = 0;
      for (size_t i = candidate.first; i + candidate.length <= slices_.size();) {
        if (slices_[i].name != slices_[candidate.first].name || !IsSame(candidate.first, i, candidate.length)) {
          ++i;
          continue;
        }
        bool is_new = true;
        for (size_t at = i; at < i + candidate.length; ++at) is_new &= is_taken[at] == 0;
        news += is_new ? 1 : 0;
        places.push_back(i);
        i += candidate.length;
      }
      if (news * 2 < candidate.count) continue;
      for (const size_t place : places) {
        for (size_t at = place; at < place + candidate.length; ++at) is_taken[at] = 1;
      }
      chosen.push_back(candidate);
    }
    return chosen;
  }

  const std::vector<StreamSlice>& slices_;
  const SequenceBounds bounds_;
  std::vector<int64_t> sums_;      // of the durations of all before
  std::vector<int64_t> gaps_;      // of the gaps before
  std::vector<uint32_t> numbers_;  // of the sequence that begins there
  std::vector<Place> places_;
  std::vector<Entry> entries_;  // by number
};

// The work of each track, in the order of time.
Result<std::map<uint32_t, std::vector<StreamSlice>>> ReadSequenceStreams(const TracePart& part,
                                                                         const EventFilter& filter,
                                                                         MemoryCharge& charge, const StopSignal& stop) {
  std::map<uint32_t, std::vector<StreamSlice>> streams;
  ASSIGN_OR_RETURN(const PartFilter bound, PartFilter::Bind(filter, part, EventKind::kSlice));
  if (bound.never()) return streams;
  PartReader& reader = *part.reader;
  std::vector<int64_t> times;
  std::vector<int64_t> durations;
  std::vector<int64_t> names;
  std::vector<int64_t> tracks;
  RETURN_IF_ERROR(bound.ForEach(stop, [&](const Segment& segment, const RowSelection& selection) -> Status {
    RETURN_IF_ERROR(GatherValues(reader, segment, EventColumn::kTime, selection, times));
    RETURN_IF_ERROR(GatherValues(reader, segment, EventColumn::kDuration, selection, durations));
    RETURN_IF_ERROR(GatherValues(reader, segment, EventColumn::kName, selection, names));
    RETURN_IF_ERROR(GatherValues(reader, segment, EventColumn::kTrack, selection, tracks));
    RETURN_IF_ERROR(
        charge.Grow(static_cast<int64_t>(times.size() * (sizeof(StreamSlice) + StreamSequences::kBytesOfSlice))));
    for (size_t i = 0; i < times.size(); ++i) {
      if (tracks[i] < 0 || static_cast<size_t>(tracks[i]) >= reader.tracks().size()) {
        return reader.Broken("a slice is on a track that is not there");
      }
      const int64_t begin = SafeTime(times[i]);
      streams[static_cast<uint32_t>(tracks[i])].push_back({begin, SafeEndOf(begin, durations[i]), names[i]});
    }
    return OkStatus();
  }));
  for (auto& [track, slices] : streams) {
    std::stable_sort(slices.begin(), slices.end(),
                     [](const StreamSlice& a, const StreamSlice& b) { return a.begin_ns < b.begin_ns; });
  }
  return streams;
}

struct FoundSequence {
  size_t part = 0;
  uint32_t track = 0;
  Sequence sequence;
  int64_t all_ns = 0;  // of the stream
  int64_t first_ns = 0;
  std::string kernels;
};

Result<AnalysisAnswer> AnswerSequences(const AnalysisTraces& traces, const AnalysisOptions& options,
                                       const StopSignal& stop) {
  AnalysisAnswer answer(traces);
  const SequenceBounds bounds = {static_cast<size_t>(*options.integer("least-length")),
                                 std::min(static_cast<size_t>(*options.integer("most-length")), kMostSequenceLength),
                                 *options.integer("least-count")};
  if (bounds.least_length > bounds.most_length) {
    return Fail(ErrorCode::kUsage, "find sequences", "least-length is more than most-length (64 is the most)",
                "give a smaller least-length");
  }
  ASSIGN_OR_RETURN(const DeviceScope scope, DeviceScope::Make(traces, options, stop));
  std::vector<FoundSequence> found;
  bool has_work = false;
  for (size_t part = 0; part < traces.parts().size(); ++part) {
    if (scope.never(part)) continue;
    MemoryCharge charge(traces.take_memory());
    PartReader& reader = *traces.parts()[part].reader;
    ASSIGN_OR_RETURN(const auto streams, ReadSequenceStreams(traces.parts()[part], scope.WorkOf(part), charge, stop));
    for (const auto& [track, slices] : streams) {
      has_work = true;
      StreamSequences of_stream(slices, bounds);
      ASSIGN_OR_RETURN(const std::vector<Sequence> sequences, of_stream.Find(stop));
      for (const Sequence& sequence : sequences) {
        std::string kernels = "[";
        for (size_t i = sequence.first; i < sequence.first + sequence.length; ++i) {
          ASSIGN_OR_RETURN(const std::string name, reader.ReadString(slices[i].name));
          if (i > sequence.first) kernels += ',';
          AppendStrictText(name, kernels);
        }
        found.push_back({part, track, sequence, of_stream.sum_ns(), slices[sequence.first].begin_ns, kernels + "]"});
      }
    }
  }
  std::stable_sort(found.begin(), found.end(), [](const FoundSequence& a, const FoundSequence& b) {
    return a.sequence.kernel_ns > b.sequence.kernel_ns;
  });
  for (const FoundSequence& one : found) {
    const TrackRow& track = traces.parts()[one.part].reader->tracks()[one.track];
    const Sequence& sequence = one.sequence;
    const auto count = static_cast<double>(sequence.count);
    RETURN_IF_ERROR(answer.AddRow(
        0, {traces.run(one.part), ValueOf(traces.parts()[one.part].rank), ValueOf(track.device), ValueOf(track.stream),
            static_cast<int64_t>(sequence.length), sequence.count, sequence.kernel_ns, sequence.gap_ns,
            PercentOf(sequence.kernel_ns, one.all_ns), one.kernels, static_cast<double>(sequence.covered_ns()) / count,
            static_cast<double>(sequence.kernel_ns) / (count * static_cast<double>(sequence.length)), one.first_ns}));
  }
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

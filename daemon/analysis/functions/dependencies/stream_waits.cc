#include "daemon/analysis/functions/dependencies/stream_waits.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "daemon/analysis/operators/part_filter.h"
#include "daemon/analysis/operators/row_indexes.h"
#include "storage/trace/format/event_args.h"

namespace kprof {
namespace {

constexpr int64_t kMostEventGapNs = 20'000;  // a stream goes on that soon behind what it waited for

// A wait that the trace tells.
struct StreamWait {
  int64_t correlation = 0;         // of the call that makes the stream wait
  int64_t record_correlation = 0;  // of the call that recorded the event; kNoValue: not known
  uint32_t track = 0;              // the stream that waits
  uint32_t on_track = 0;           // the stream of the event
};

// The integer arguments of a key, by row of a segment.
Result<std::unordered_map<uint32_t, int64_t>> ReadIntegers(PartReader& reader, const Segment& segment,
                                                           std::string_view key) {
  std::unordered_map<uint32_t, int64_t> values;
  ASSIGN_OR_RETURN(const std::optional<int64_t> number, reader.FindString(key));
  ASSIGN_OR_RETURN(const std::optional<ColumnBounds> bounds, reader.ReadBounds(segment, EventColumn::kShape));
  if (!number || !bounds) return values;
  ASSIGN_OR_RETURN(const DecodedColumn shapes, reader.Read(segment, EventColumn::kShape));
  for (uint32_t shape = 0; shape < reader.shapes().size(); ++shape) {
    if (int64_t{shape} < bounds->min || int64_t{shape} > bounds->max) continue;
    const ArgShape& slots = reader.shapes()[shape];
    for (uint32_t slot = 0; slot < slots.size(); ++slot) {
      if (int64_t{slots[slot].key} != *number || slots[slot].type != ArgType::kInteger || slots[slot].of_event)
        continue;
      std::vector<uint32_t> rows;
      for (uint32_t row = 0; row < shapes->size(); ++row) {
        if ((*shapes)[row] == int64_t{shape}) rows.push_back(row);
      }
      if (rows.empty()) continue;
      ASSIGN_OR_RETURN(const DecodedColumn column, reader.ReadArg(segment, shape, slot));
      for (size_t i = 0; i < rows.size() && i < column->size(); ++i) values[rows[i]] = (*column)[i];
    }
  }
  return values;
}

Result<std::vector<StreamWait>> ReadStreamWaits(const TracePart& part, const StopSignal& stop) {
  PartReader& reader = *part.reader;
  std::vector<StreamWait> waits;
  EventFilter filter;
  filter.categories = {"cuda_sync"};
  filter.names = {"Stream Wait Event"};
  ASSIGN_OR_RETURN(const PartFilter bound, PartFilter::Bind(filter, part, EventKind::kSlice));
  std::vector<int64_t> tracks;
  std::vector<int64_t> correlations;
  RETURN_IF_ERROR(bound.ForEach(stop, [&](const Segment& segment, const RowSelection& selection) -> Status {
    ASSIGN_OR_RETURN(const std::optional<ColumnBounds> bounds, reader.ReadBounds(segment, EventColumn::kCorrelation));
    if (!bounds) return OkStatus();
    RETURN_IF_ERROR(GatherValues(reader, segment, EventColumn::kTrack, selection, tracks));
    RETURN_IF_ERROR(GatherValues(reader, segment, EventColumn::kCorrelation, selection, correlations));
    ASSIGN_OR_RETURN(const auto streams, ReadIntegers(reader, segment, "wait_on_stream"));
    ASSIGN_OR_RETURN(const auto records, ReadIntegers(reader, segment, "wait_on_cuda_event_record_corr_id"));
    for (size_t i = 0; i < tracks.size(); ++i) {
      const uint32_t row = selection.all ? static_cast<uint32_t>(i) : selection.rows[i];
      const auto stream = streams.find(row);
      if (stream == streams.end() || correlations[i] == kNoValue) continue;
      if (static_cast<uint64_t>(tracks[i]) >= reader.tracks().size()) {
        return reader.Broken("a slice is on a track that is not there");
      }
      const TrackRow& track = reader.tracks()[static_cast<size_t>(tracks[i])];
      const auto record = records.find(row);
      for (const TrackRow& on : reader.tracks()) {
        if (on.kind != "gpu_stream" || on.stream != stream->second || on.device != track.device) continue;
        waits.push_back({correlations[i], record == records.end() ? kNoValue : record->second, track.id, on.id});
        break;
      }
    }
    return OkStatus();
  }));
  return waits;
}

class StreamWaitFinder {
 public:
  explicit StreamWaitFinder(const ChosenWork& chosen) : chosen_(chosen) {}

  StreamWaits Find(const std::vector<StreamWait>& told) {
    std::unordered_map<int64_t, const StreamWait*> by_correlation;
    for (const StreamWait& wait : told) by_correlation[wait.correlation] = &wait;
    struct Thread {
      uint32_t launched = kNoIndex;  // the last work of the thread
      uint32_t recorded = kNoIndex;  // of its last record of an event: the work before it
      std::vector<uint32_t> waits;
      int64_t waited_ns = INT64_MIN;               // its last wait of which nothing is told
      bool has_waited = false;                     // since it launched something
      std::unordered_map<uint32_t, int64_t> seen;  // by stream, the last wait before its last launch
    };
    std::unordered_map<uint32_t, Thread> threads;
    std::unordered_map<uint32_t, uint32_t> last_of_streams;
    std::unordered_map<int64_t, std::unordered_map<uint32_t, uint32_t>> at_record;  // the last of each stream
    std::unordered_map<uint32_t, std::vector<uint32_t>> waiting_streams;            // by track, work to wait for
    std::vector<uint32_t> order;
    for (uint32_t i = 0; i < calls().size(); ++i) {
      const ApiRole role = chosen_.role(i);
      if (!chosen_.is_call_chosen(i)) continue;
      if (chosen_.of_calls().contains(i) || role == ApiRole::kRecord || role == ApiRole::kStreamWait)
        order.push_back(i);
    }
    std::stable_sort(order.begin(), order.end(),
                     [this](uint32_t a, uint32_t b) { return calls()[a].begin_ns < calls()[b].begin_ns; });
    for (const StreamWait& wait : told) at_record[wait.record_correlation];
    for (const uint32_t call : order) {
      Thread& thread = threads[calls()[call].track];
      const auto record = at_record.find(calls()[call].correlation);
      if (record != at_record.end()) record->second = last_of_streams;
      if (chosen_.role(call) == ApiRole::kRecord) {
        thread.recorded = thread.launched;
      } else if (chosen_.role(call) == ApiRole::kStreamWait) {
        const auto wait = by_correlation.find(calls()[call].correlation);
        if (wait != by_correlation.end()) {
          const auto recorded = at_record.find(wait->second->record_correlation);
          const auto& last = recorded->second.empty() ? last_of_streams : recorded->second;
          const auto of = last.find(wait->second->on_track);
          if (of != last.end()) waiting_streams[wait->second->track].push_back(of->second);
        } else {
          if (thread.recorded != kNoIndex) thread.waits.push_back(thread.recorded);
          thread.waited_ns = calls()[call].begin_ns;
          thread.has_waited = true;
        }
      }
      const auto launched = chosen_.of_calls().find(call);
      if (launched == chosen_.of_calls().end()) continue;
      const uint32_t first = launched->second.front();
      for (const uint32_t of : thread.waits) {
        if (work()[of].track == work()[first].track || work()[of].end_ns > work()[first].begin_ns) continue;
        found_.of_work.emplace(first, of);
        ++found_.assumed;
      }
      // Records that the trace does not have, or of another thread: the end of the work tells.
      const auto [seen, is_first] = thread.seen.try_emplace(work()[first].track, INT64_MIN);
      const bool is_untold = thread.has_waited && thread.waits.empty();
      if (seen->second < thread.waited_ns) FindWaitByEnd(first, thread.waited_ns, is_untold);
      seen->second = thread.waited_ns;
      thread.has_waited = false;
      // A wait of a stream that the thread launches nothing on is some other thread's.
      thread.waits.clear();
      for (const uint32_t i : launched->second) {
        const auto waits = waiting_streams.find(work()[i].track);
        if (waits != waiting_streams.end()) {
          for (const uint32_t of : waits->second) found_.of_work.emplace(i, of);
          waiting_streams.erase(waits);
        }
        last_of_streams[work()[i].track] = i;
      }
      thread.launched = launched->second.back();
    }
    return std::move(found_);
  }

 private:
  const std::vector<PartSlice>& calls() const { return chosen_.calls(); }
  const std::vector<PartSlice>& work() const { return chosen_.work(); }
  uint32_t CallOf(size_t work) const { return chosen_.CallOf(work); }

  // Takes the work that ended last of all that was launched on other streams before the wait, if it ended right before
  // `i` began and nothing else had kept that so long. `is_untold`: it is launched right behind the wait, and no record
  // tells for what.
  void FindWaitByEnd(uint32_t i, int64_t waited_ns, bool is_untold) {
    const int64_t begin = work()[i].begin_ns;
    int64_t ready = chosen_.LaunchReady(i);
    if (chosen_.Before(i) != kNoIndex) ready = std::max(ready, work()[chosen_.Before(i)].end_ns);
    if (ready >= begin) return;
    const std::string process = chosen_.ProcessOf(calls()[CallOf(i)].track);
    auto at = std::upper_bound(chosen_.by_end().begin(), chosen_.by_end().end(), begin,
                               [this](int64_t time, uint32_t of) { return time < work()[of].end_ns; });
    constexpr int kMostTried = 1024;
    for (int tried = 0; at != chosen_.by_end().begin() && tried < kMostTried; ++tried) {
      const uint32_t of = *--at;
      if (work()[of].end_ns <= ready || work()[of].end_ns < begin - kMostEventGapNs) break;
      const uint32_t call = CallOf(of);
      if (of == i || work()[of].track == work()[i].track) continue;
      if (call != kNoIndex && (calls()[call].begin_ns > waited_ns || chosen_.ProcessOf(calls()[call].track) != process))
        continue;
      const auto [first, end] = found_.of_work.equal_range(i);
      if (std::any_of(first, end, [of](const auto& wait) { return wait.second == of; })) return;
      found_.of_work.emplace(i, of);
      ++found_.assumed;
      return;
    }
    if (is_untold && ready < begin - kMostEventGapNs) {
      found_.with_unknown.insert(i);
      ++found_.unknown;
    }
  }

  const ChosenWork& chosen_;
  StreamWaits found_;
};

}  // namespace

Result<StreamWaits> FindStreamWaits(const TracePart& part, const ChosenWork& chosen, const StopSignal& stop) {
  ASSIGN_OR_RETURN(const std::vector<StreamWait> told, ReadStreamWaits(part, stop));
  return StreamWaitFinder(chosen).Find(told);
}

}  // namespace kprof

#include "daemon/ingest/chrome/counter_rows.h"

#include <bit>

namespace kprof {

void CounterRows::Add(int64_t time_ns, uint32_t track, const CounterSample& sample, std::string_view text) {
  EventRows& rows = batch_.of(EventKind::kCounter);
  rows.of(EventColumn::kTime).push_back(time_ns);
  rows.of(EventColumn::kTrack).push_back(track);
  rows.of(EventColumn::kValue).push_back(std::bit_cast<int64_t>(sample.value));
  rows.of(EventColumn::kShape).push_back(kNoArgs);
  if (sample.written) AddText(sample, text, rows);
}

// Of the last sample.
void CounterRows::AddText(const CounterSample& sample, std::string_view text, EventRows& rows) {
  int64_t column = sample.column;
  if (IsStringNumber(*sample.written)) {
    const uint32_t strings = texts_.size();
    if (text.size() > text_bytes_) {
      ++rounded_;
      return;
    }
    column = texts_.Text(text);
    if (column >= strings) text_bytes_ -= text.size();
  }
  uint32_t& shape = shapes_[static_cast<size_t>(*sample.written)];
  if (shape == kNoArgs) shape = batch_.Shape({{texts_.Text(kSampleKey), *sample.written, false}});
  rows.of(EventColumn::kShape).back() = shape;
  if (rows.args.size() <= shape) rows.args.resize(shape + 1);
  rows.args[shape].resize(1);
  rows.args[shape][0].push_back(column);
}

}  // namespace kprof

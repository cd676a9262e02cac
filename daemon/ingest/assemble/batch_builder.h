// Makes batches for a BatchSink from events that come one by one, for readers whose source is no list of trace events.
// Gives strings, tracks and shapes their numbers, and hands a batch over whenever it is large enough. So memory is
// bounded by a batch and by the different strings, each of which is kept once.
//
// One thread.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/ingest/assemble/batch_sink.h"
#include "storage/base/status.h"
#include "storage/trace/write/string_table.h"
#include "storage/trace/write/trace_batch.h"

namespace kprof {

struct EventArg {
  uint32_t key = 0;  // a string's number
  ArgType type = ArgType::kNull;
  int64_t value = 0;  // as its column has it, or the correlation; unused for types that have neither
  bool of_event = false;
};

class BatchBuilder {
 public:
  static constexpr size_t kRowsPerBatch = 65'536;
  static constexpr size_t kTextBytesPerBatch = 8 << 20;

  // `sink` is borrowed.
  explicit BatchBuilder(BatchSink& sink);

  BatchSink& sink() { return sink_; }

  // Both return the number of a string. Text leaves out environments in it (environment_text.h); Json takes JSON that
  // the reader made itself.
  uint32_t Text(std::string_view text);
  uint32_t Json(std::string_view json);
  // The text of such a number, as it is kept. Valid until the next text is added.
  std::string_view TextAt(uint32_t number) const { return TextOf(number); }
  // A new track: `key` was not given before. The row's id is filled in.
  uint32_t AddTrack(const TrackKey& key, TrackRow row);

  // The fields that most kinds of events have in common.
  struct Event {
    int64_t time_ns = 0;
    uint32_t track = 0;
    uint32_t name = 0;
    uint32_t category = 0;
    std::span<const EventArg> args;
  };
  void AddSlice(const Event& event, int64_t duration_ns, int64_t correlation);
  void AddInstant(const Event& event);
  void AddMetadata(const Event& event);  // of phase M
  // `written`: one argument with the value as its source wrote it, if that is not the double's text.
  void AddCounter(int64_t time_ns, uint32_t track, double value, std::span<const EventArg> written = {});

  // A point of a flow that touches the slice around it: a begin (s), a step (t) or an end (f). Two points with one id
  // are of one flow.
  void AddFlow(const Event& event, uint64_t id, char phase);

  // A row of a side table: a value for each of its columns, texts by their numbers. The table outlives the builder.
  void AddSideRow(const SideTable& table, std::span<const int64_t> values);

  // Call it between events, often: costs nothing unless a batch is full.
  Status GiveFull() { return rows_ < kRowsPerBatch && text_bytes_ < kTextBytesPerBatch ? OkStatus() : Give(); }
  // Hands over whatever there is.
  Status Give();

  int64_t events() const { return events_; }
  // The number of different texts that lack something of an environment.
  int64_t changed_texts() const { return changed_texts_; }

 private:
  void AddArgs(EventRows& rows, std::span<const EventArg> args);
  EventRows& AddRow(EventKind kind, const Event& event);
  // The place of a string's text in one of the two tables.
  struct Place {
    bool is_json = false;
    uint32_t id = 0;
  };
  uint32_t NewString(char prefix, std::string_view text, Place place);
  std::string_view TextOf(uint32_t number) const;
  uint32_t ShapeOf(std::span<const EventArg> args);
  EventArg AsJson(std::span<const EventArg> args);

  BatchSink& sink_;
  StringTable texts_;
  StringTable jsons_;
  std::vector<uint32_t> of_texts_{0};
  std::vector<uint32_t> of_jsons_{0};
  std::vector<Place> places_{Place()};  // by a string's number
  uint32_t tracks_ = 0;
  std::map<ArgShape, uint32_t> shapes_{{ArgShape(), kNoArgs}};
  ArgShape shape_;  // of the last event, and its number: often the next one has the same
  uint32_t shape_number_ = kNoArgs;
  TraceBatch batch_;
  const SideTable* last_table_ = nullptr;  // of the last row, and its place in the batch
  size_t last_side_ = 0;
  size_t rows_ = 0;
  size_t text_bytes_ = 0;
  int64_t events_ = 0;
  int64_t changed_texts_ = 0;
};

}  // namespace kprof

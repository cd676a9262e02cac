// Makes rows of what a Neuron runtime's trace tells: a slice for each event on the track of its thread or of its
// NeuronCore's physical core, a row of the side table `neuron_event`, counters, and rows of `neuron_call`
// (neuron_tables.h). Sets the part's time 0 and its base.
//
// One thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "daemon/ingest/assemble/batch_builder.h"
#include "daemon/ingest/assemble/batch_sink.h"
#include "storage/base/status.h"
#include "storage/trace/format/trace_model.h"

namespace kprof {

// A type of events, by its name.
struct NeuronEventType {
  uint32_t name = 0;  // a text's number
  uint32_t category = 0;
  bool is_known = false;
  bool is_of_device = false;  // its times are those of a core's clock, or were made of them
  bool is_sync_point = false;
  bool is_execution = false;
  bool is_collective = false;
  bool is_host_api = false;  // nrt_execute, nrta_execute_schedule
};

// An event, or the half of one that is known. A number that is not known is kNoValue, a text 0.
struct NeuronEvent {
  uint32_t type = 0;  // its place among the types
  uint32_t process = 0;
  uint32_t instance = 0;  // the host: process ids of two hosts may be the same
  uint32_t model = 0;
  bool is_instant = false;
  int64_t worker = kNoValue;
  int64_t thread = kNoValue;
  int64_t nc = kNoValue;
  int64_t local_nc = kNoValue;
  int64_t core = kNoValue;
  int64_t exec_id = kNoValue;
  int64_t tracking_id = kNoValue;
  int64_t seq_id = kNoValue;
  int64_t start_ns = kNoValue;
  int64_t end_ns = kNoValue;
  int64_t device_start_ns = kNoValue;
  int64_t device_end_ns = kNoValue;
  int64_t size_bytes = kNoValue;
  std::vector<EventArg> args;
};

// A kernel call, as a profiler within the program recorded it.
struct NeuronCall {
  uint32_t file = 0;
  uint32_t kernel = 0;
  int64_t line = kNoValue;
  int64_t call_index = kNoValue;
  int64_t thread = kNoValue;
  int64_t start_ns = kNoValue;
  int64_t end_ns = kNoValue;
  int64_t nc = kNoValue;
  int64_t seq_id = kNoValue;
  int64_t exec_id = kNoValue;
};

class NeuronEventRows {
 public:
  // `sink` is borrowed.
  explicit NeuronEventRows(BatchSink& sink) : builder_(sink) {}

  BatchSink& sink() { return builder_.sink(); }
  int64_t events() const { return builder_.events(); }

  // The number of a text. A JSON value's text between quotes is its text without escapes. Quick for those that repeat.
  uint32_t Text(std::string_view text);
  uint32_t TextOfValue(std::string_view json_value);
  // The place of a type, a new one where it was never seen. `is_framework`: an event of a framework, whose types are
  // any.
  uint32_t Type(std::string_view name, bool is_framework);
  const NeuronEventType& type(uint32_t place) const { return types_[place]; }
  const std::vector<NeuronEventType>& types() const { return types_; }
  std::string_view TypeName(size_t place) const { return builder_.TextAt(types_[place].name); }
  // The argument for a member of an event: numbers as such, also those between quotes.
  EventArg Arg(std::string_view key, std::string_view json_value);

  // A time on the host's clock that comes later: the part's time 0 is none after it, where it is not set yet.
  void SeeTime(int64_t host_ns) {
    if (!zero_ns_ && (!earliest_ns_ || host_ns < *earliest_ns_)) earliest_ns_ = host_ns;
  }

  Status Write(const NeuronEvent& event);
  Status Write(const NeuronCall& call);
  // `name` is the counter's, of the process `group` (which may be empty).
  Status WriteCounter(std::string_view group, std::string_view name, int64_t time_ns, double value);
  // Hands over what there is.
  Status Finish();

 private:
  struct TrackPlace {
    uint32_t process = 0;
    uint32_t instance = 0;
    bool is_of_device = false;
    bool is_collective = false;
    int64_t worker = kNoValue;
    int64_t number = kNoValue;  // a thread, or an nc
    int64_t core = kNoValue;
    bool operator==(const TrackPlace&) const = default;
  };
  struct HashOfPlace {
    size_t operator()(const TrackPlace& place) const;
  };

  Status SetZero(int64_t time_ns);
  uint32_t TrackOf(const NeuronEvent& event, const NeuronEventType& type);
  int64_t FromZero(int64_t time_ns) const { return time_ns == kNoValue ? kNoValue : time_ns - zero_ns_.value_or(0); }

  BatchBuilder builder_;
  std::optional<int64_t> zero_ns_;
  std::optional<int64_t> earliest_ns_;
  std::vector<NeuronEventType> types_;
  std::unordered_map<uint32_t, uint32_t> types_by_name_;
  std::unordered_map<TrackPlace, uint32_t, HashOfPlace> tracks_;
  TrackPlace last_place_;
  std::optional<uint32_t> last_track_;
  std::unordered_map<uint64_t, uint32_t> counters_;  // by the numbers of group and name
  // Texts by a quick sum, for those that were given last.
  struct QuickText {
    std::string text;
    uint32_t number = 0;
    bool is_type = false;
  };
  static constexpr size_t kQuickTexts = 1024;
  QuickText& Quick(std::string_view text);
  std::vector<QuickText> quick_texts_{kQuickTexts};
  std::vector<EventArg> args_;
};

}  // namespace kprof

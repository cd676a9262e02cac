// Puts begins and ends of a Neuron runtime's events together, by type, host, process, NeuronCore, worker, tracking id
// and, where both tell it, physical core, in whatever order they come. Halves whose other half never comes are events
// as well: a ring buffer overwrites its oldest events, and a capture ends in the middle.
//
// One thread. Memory: the halves that wait, at most kMostOpenHalves; beyond, the oldest waits no longer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/ingest/neuron/core_clocks.h"
#include "daemon/ingest/neuron/neuron_event_rows.h"
#include "daemon/ingest/neuron/system_event_scan.h"
#include "storage/base/status.h"

namespace kprof {

class SystemEventPairing {
 public:
  static constexpr size_t kMostOpenHalves = 1 << 19;

  // `rows` is borrowed.
  explicit SystemEventPairing(NeuronEventRows& rows) : rows_(rows), clocks_(rows), buckets_(1 << 12, kNone) {}

  // Fails as writing does.
  Status Take(const SystemEvent& event);
  // Writes what waits, and warns of all that was odd.
  Status Finish();

  int64_t events() const { return events_; }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  struct Half {
    NeuronEvent event;
    uint64_t key = 0;
    bool is_end = false;
    bool is_on_device_clock = false;
    uint32_t next = kNone;    // in its bucket
    uint32_t before = kNone;  // in the order of coming
    uint32_t after = kNone;
  };

  NeuronEvent Made(const SystemEvent& event, uint32_t type);
  static uint64_t KeyOf(const NeuronEvent& event);
  static bool IsOfOneKey(const NeuronEvent& a, const NeuronEvent& b);
  // The half that goes with this one; kNone: it has not come.
  uint32_t FindOther(const NeuronEvent& event, uint64_t key, bool is_end);
  uint32_t ChooseOther(const NeuronEvent& event, bool is_end);
  Status TakeHalf(NeuronEvent event, bool is_end, bool is_on_device_clock);
  uint32_t Open(NeuronEvent event, uint64_t key, bool is_end, bool is_on_device_clock);
  void Close(uint32_t half);
  void Grow();
  Status GiveUp(uint32_t half);
  static void Join(NeuronEvent& begin, NeuronEvent& end);
  Status Emit(NeuronEvent event, bool is_on_device_clock);
  void SeeClock(const NeuronEvent& event, bool is_on_device_clock);
  void WarnOfOddities();
  // Keeps memory for the arguments of later events.
  void Spare(std::vector<EventArg>& args);

  NeuronEventRows& rows_;
  CoreClocks clocks_;
  std::vector<Half> halves_;
  std::vector<uint32_t> free_;
  std::vector<uint32_t> buckets_;  // a power of two
  uint32_t oldest_ = kNone;
  uint32_t newest_ = kNone;
  size_t open_ = 0;
  std::vector<uint32_t> candidates_;
  std::vector<std::vector<EventArg>> spare_args_;
  int64_t events_ = 0;
  int64_t begins_alone_ = 0;
  int64_t ends_alone_ = 0;
  int64_t odd_ = 0;  // without a type or a time
  int64_t unknown_phase_ = 0;
  int64_t no_tracking_id_ = 0;
  int64_t ambiguous_ = 0;        // several halves could have been theirs
  int64_t backwards_ = 0;        // that end before they begin
  int64_t left_out_ = 0;         // with too many members
  int64_t on_host_clock_ = 0;    // of the device
  int64_t on_device_clock_ = 0;  // of the device
  std::vector<int64_t> of_type_;
};

}  // namespace kprof

// Puts events of a Neuron device on the host's clock. A runtime may give them with the time of the core's own clock;
// each `timestamp_sync_point` tells one moment on both clocks. The clocks of two cores have nothing to do with each
// other: a point of one core never places events of another.
//
// One thread. Memory: the events that wait, at most kMostWaitingEvents, and the points.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "daemon/ingest/neuron/neuron_event_rows.h"
#include "storage/base/status.h"

namespace kprof {

class CoreClocks {
 public:
  static constexpr size_t kMostWaitingEvents = 1 << 19;

  struct SyncPoint {
    int64_t exec_id = kNoValue;
    int64_t local_nc = kNoValue;
    int64_t device_ns = 0;
    int64_t cpu_ns = 0;
  };
  struct Counts {
    int64_t placed = 0;          // by a point of their own execution
    int64_t placed_by_near = 0;  // by the nearest other point of their core
    int64_t kept = 0;            // without any point; their times fit those of the host
    int64_t unplaced = 0;        // without any point; they have times of their core alone
    int64_t points_of_none = 0;  // points that do not tell which core they are of
  };

  explicit CoreClocks(NeuronEventRows& rows) : rows_(rows) {}

  // `core`: kNoValue where the point does not tell. REQUIRES: both times are within kFirstTimeNs to kLastTimeNs.
  void AddPoint(const NeuronEvent& of, const SyncPoint& point);
  // A time of an event of the host.
  void SeeHostTime(int64_t host_ns);
  // Takes an event whose times are those of its core's clock; writes it once its place is known. Fails as writing does.
  Status Take(NeuronEvent event);
  // Writes all that wait.
  Status Finish();

  const Counts& counts() const { return counts_; }

 private:
  // A logical NeuronCore of a process.
  using NcKey = std::tuple<uint32_t, uint32_t, int64_t, int64_t>;  // instance, process, worker, nc
  struct Nc {
    std::map<int64_t, std::vector<SyncPoint>> points;  // by core; those that tell none by kNoValue
    std::map<int64_t, int64_t> local_of_core;          // cores that events or points tell; their nc_local_id
    bool has_events = false;
    // Points by execution: by the end of each core's execution in device time.
    std::map<int64_t, std::map<int64_t, int64_t>> ends;
  };

  static NcKey KeyOf(const NeuronEvent& event) { return {event.instance, event.process, event.worker, event.nc}; }
  void ShareOutPoints(Nc& nc);
  // The core that alone may have that nc_local_id; nothing: there are several, or none.
  static std::optional<int64_t> CoreOf(const Nc& nc, int64_t local_nc);
  // True if no core may have that nc_local_id.
  static bool NobodyIs(const Nc& nc, int64_t local_nc);
  // The core that a point is of, by the ends of its execution; nothing: it may be any.
  static std::optional<int64_t> NearestCore(const Nc& nc, const SyncPoint& point);
  void Place(NeuronEvent& event);
  Status WriteWaiting();

  NeuronEventRows& rows_;
  std::map<NcKey, Nc> ncs_;
  std::vector<NeuronEvent> waiting_;
  std::optional<int64_t> first_host_ns_;
  std::optional<int64_t> last_host_ns_;
  Counts counts_;
};

}  // namespace kprof

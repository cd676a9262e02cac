// The first pass over a Perfetto trace: what has to be known before its events can be given. Packets come in no order
// of time, ends of slices after all begins, and what a track is may be told behind its events.
//
// One thread. Memory: the tracks, 24 bytes for each flow and launched render stage up to a limit, and SliceEnds.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "daemon/ingest/perfetto/packet_clocks.h"
#include "daemon/ingest/perfetto/packet_stream.h"
#include "daemon/ingest/perfetto/slice_ends.h"
#include "daemon/ingest/perfetto/track_events.h"
#include "storage/base/status.h"

namespace kprof {

struct PerfettoTrack {
  std::optional<uint64_t> parent;
  std::string name;
  std::string process_name;
  std::string thread_name;
  std::optional<int64_t> pid;  // of the process or the thread that it is
  std::optional<int64_t> tid;
  bool is_counter = false;
  bool is_incremental = false;
  int64_t unit_multiplier = 1;
  // Told by its first slices.
  bool is_decided = false;
  bool is_gpu = false;
  bool may_be_gpu = false;  // by arguments alone
  std::optional<int64_t> device;
  std::optional<int64_t> stream;
  SliceEnds slices;
};

class PerfettoSurvey {
 public:
  struct Limits {
    size_t tracks = 1 << 20;
    int64_t bytes = int64_t{320} << 20;  // of all slices
    size_t flows = 1 << 22;
  };
  explicit PerfettoSurvey(const Limits& limits) : limits_(limits) {}

  // Fails with kBadInput for more tracks or slices than the limits say.
  Status See(const TracePacket& packet);
  // Call once, when all packets were seen.
  void Finish();

  // Null: no packet was about that track.
  PerfettoTrack* Find(uint64_t uuid);
  template <typename SeeTrack>
  void ForEachTrack(const SeeTrack& see) const {
    for (const auto& [uuid, track] : tracks_) see(track);
  }
  // True: this is the earliest point of a flow.
  bool IsFirst(uint64_t flow, int64_t time_ns) const;
  // The correlation of the call that launched a render stage; nothing: no call says that it did.
  std::optional<int64_t> CorrelationOf(uint64_t render_stage) const;
  // True: an event of the trace has a category, so that those without have none.
  bool has_categories() const { return has_categories_; }
  std::optional<int64_t> base_unix_ns() const { return clocks_.base_unix_ns(); }
  std::optional<int64_t> first_ns() const { return first_ns_; }
  int64_t ends_alone() const { return ends_alone_; }

 private:
  // The names by which a track is known to be a device's.
  enum class Key : uint8_t { kOther, kStream, kDevice, kCorrelation, kGrid };
  struct Names {
    std::unordered_map<uint64_t, bool> categories;  // true: of a device
    std::unordered_map<uint64_t, Key> keys;
  };
  static Key KeyOf(std::string_view name);
  void SeeNames(const TracePacket& packet);
  Status SeeDescriptor(std::string_view bytes);
  Status SeeEvent(const TracePacket& packet);
  void Decide(uint64_t sequence, PerfettoTrack& track);
  void SeeLaunch(uint64_t sequence);
  Result<PerfettoTrack*> TrackOf(uint64_t uuid);
  Key KeyOf(uint64_t sequence, const PerfettoArg& arg) const;

  const Limits limits_;
  PacketClocks clocks_;
  PerfettoTrackEvent event_;
  std::unordered_map<uint64_t, PerfettoTrack> tracks_;
  std::unordered_map<uint64_t, Names> names_;  // by sequence
  size_t names_size_ = 0;
  std::vector<std::pair<uint64_t, int64_t>> flows_;
  std::vector<std::pair<uint64_t, int64_t>> launched_;
  bool has_categories_ = false;
  int64_t slice_bytes_ = 0;
  std::optional<int64_t> first_ns_;
  int64_t ends_alone_ = 0;
};

}  // namespace kprof

// The packets of a Perfetto trace (perfetto.protos.Trace), one after the other, also those that are packed in another
// one (deflate or zstd). Finds the fields of a packet that readers ask for; all others count as not read.
//
// One thread. Memory: the largest packet, and what is packed in it, each up to the limit.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/ingest/source/text_source.h"
#include "storage/base/status.h"

namespace kprof {

// perfetto.protos.TracePacket. Texts are empty where the packet has none; they are valid while it is looked at.
struct TracePacket {
  std::optional<uint64_t> timestamp;
  std::optional<uint64_t> clock;  // of the timestamp
  uint64_t sequence = 0;
  bool clears_state = false;
  std::string_view interned_data;
  std::string_view defaults;
  std::string_view clock_snapshot;
  std::string_view track_descriptor;
  std::string_view track_event;
  std::string_view render_stage;
  std::string_view gpu_counters;
  std::string_view packed_deflate;
  std::string_view packed_zstd;
  uint32_t unread = 0;    // the number of a field that nobody reads; 0: none
  bool is_whole = false;  // all of it was fields
};

TracePacket ReadTracePacket(std::string_view bytes);

class PacketStream {
 public:
  struct Limits {
    int64_t packet_bytes = int64_t{64} << 20;    // of one, and of what is packed in it; larger ones are left out
    int64_t unpacked_bytes = int64_t{64} << 30;  // of all that is packed in packets
  };

  // `text` is borrowed. `keeps`: it is not released, so that it can be read again.
  PacketStream(TextSource& text, const Limits& limits, bool keeps);
  ~PacketStream();

  using See = std::function<Status(const TracePacket& packet)>;
  // Calls `see` with each packet, and `progress` with the place in the text, now and then. Fails as these two and the
  // text do. What cannot be read ends it, or is left out: WarnOf says so.
  Status ForEach(const See& see, const std::function<Status(int64_t offset_bytes)>& progress);

  // Says in sentences for people what was left out.
  void WarnOf(const std::function<void(std::string what)>& warn) const;
  // How often each field was met that nobody reads.
  const std::map<uint32_t, int64_t>& unread() const { return unread_; }

 private:
  struct Inflater;

  // The bytes from `offset_` on, at least so many where there are.
  Result<std::string_view> Window(size_t least_bytes);
  Status SeePacket(std::string_view bytes, const See& see, bool is_packed);
  Status SeePacked(std::string_view packed, bool is_zstd, const See& see);
  void StopAt(std::string why);

  TextSource& text_;
  const Limits limits_;
  const bool keeps_;
  std::string buffer_;
  int64_t buffer_begin_ = 0;  // of the text
  size_t buffered_ = 0;       // bytes of the buffer
  bool at_end_ = false;
  int64_t offset_ = 0;
  std::unique_ptr<Inflater> inflater_;
  std::string unpacked_;
  int64_t unpacked_bytes_ = 0;
  std::map<uint32_t, int64_t> unread_;
  int64_t broken_ = 0;
  int64_t too_large_ = 0;
  int64_t not_unpacked_ = 0;
  std::string why_stopped_;
};

// True for the first bytes of a Perfetto trace: a whole packet, as far as it is there, with fields that packets have.
bool LooksLikePerfetto(std::span<const char> first);

}  // namespace kprof

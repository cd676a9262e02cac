// A part at the other end of a socket: what it is given goes there in frames (ingest_protocol.h), some of them at once.
//
// One thread at a time. Blocks while the other end does not read. Fails with kBadInput for what fits into no frame.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "daemon/ingest/channel/ingest_protocol.h"
#include "storage/base/status.h"
#include "storage/trace/write/part_sink.h"

namespace kprof {

class FrameSink : public PartSink {
 public:
  // `fd` is borrowed.
  explicit FrameSink(int fd) : fd_(fd) {}

  Status AddString(uint32_t id, std::string_view text) override;
  Status AddTrack(const TrackRow& track) override;
  Status AddShape(uint32_t id, const ArgShape& shape) override;
  Status AddSegment(const EncodedSegment& segment) override;
  Status AddSideTable(uint32_t id, const SideTable& table) override;
  Status AddSideSegment(const EncodedSideSegment& segment) override;
  Status SetFact(std::string_view name, std::string_view text) override;
  Status SetFact(std::string_view name, int64_t value) override;

  // Of whatever type; what was given before goes with it.
  Status SendNow(IngestFrame type, std::string_view message);

 private:
  Status Send(IngestFrame type, std::string_view message);
  Status Flush();

  const int fd_;
  std::string waiting_;
};

}  // namespace kprof

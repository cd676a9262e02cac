// One kprof-ingest, from its start to its end: it takes apart the file that it is given, and says what is in it over a
// socket, and nowhere else: it has none of our descriptors but these two, also not what we log to. Ends with this.
//
// One thread. Blocks.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/ingest/channel/ingest_protocol.h"
#include "daemon/process/worker/worker_process.h"
#include "storage/base/descriptors.h"
#include "storage/base/status.h"
#include "storage/trace/write/part_sink.h"

namespace kprof {

// A part at the other end of a socket: what it is given goes there in frames (ingest_protocol.h), some of them at once.
//
// One thread at a time. Blocks while the other end does not read. Fails with kBadInput for what fits into no frame.
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

constexpr int kIngestChannelFd = 3;
constexpr int kIngestSourceFd = 4;
constexpr int kIngestOutOfMemory = 77;                                  // its exit status then
constexpr const char* kMoreMemory = "raise [import] memory_megabytes";  // the remedy

class IngestProcess {
 public:
  // `own`: where children of this process are entered; null: nowhere. Fails with kToolMissing where there is
  // no such program, kSpawnFailed where it cannot be started.
  static Result<IngestProcess> Start(const std::string& program, int source_fd, const IngestRequest& request,
                                     OwnChildren* own);
  // Kills it, if it still lives, and waits for it.
  ~IngestProcess();
  IngestProcess(IngestProcess&& other) noexcept;
  IngestProcess& operator=(IngestProcess&&) = delete;

  // Whether that was told: not where it does not listen right now.
  Result<bool> Tell(const SourceGrowth::State& grown);

  // The next frame, valid until the next call; nothing where none came within `wait_ms`. Fails where it ended without
  // having said how: with kBadInput, as what it read was too much for it.
  Result<std::optional<ReceivedFrame>> Receive(int wait_ms);

 private:
  IngestProcess(UniqueFd channel, pid_t pid, OwnChildren* own) : channel_(std::move(channel)), pid_(pid), own_(own) {}
  Status WhyEnded();
  int Wait();

  UniqueFd channel_;
  pid_t pid_ = -1;
  OwnChildren* own_ = nullptr;
  std::string bytes_;  // never shrinks: what is grown is zeroed first
  size_t filled_ = 0;  // of bytes_
  size_t taken_ = 0;   // of those
};

}  // namespace kprof

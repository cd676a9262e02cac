// Both ends of the socket between kprofd and kprof-ingest: IngestProcess starts kprof-ingest for kprofd and hears from
// it; with FrameSink kprof-ingest sends the part that it makes.
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

// A part at the other end of a socket: sends everything there in frames (ingest_protocol.h), several of them at once.
//
// One thread at a time. Blocks while the other end does not read. Fails with kBadInput for a piece that fits into no
// frame.
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

  // Sends a frame of any type, and with it everything that was given before.
  Status SendNow(IngestFrame type, std::string_view message);

 private:
  Status Send(IngestFrame type, std::string_view message);
  Status Flush();

  const int fd_;
  std::string waiting_;
};

constexpr int kIngestChannelFd = 3;
constexpr int kIngestSourceFd = 4;
constexpr int kIngestOutOfMemory = 77;                                  // its exit status with too little memory
constexpr const char* kMoreMemory = "raise [import] memory_megabytes";  // the remedy

// One kprof-ingest, from its start to its end. It takes apart the file that it is given, and reports over a socket. It
// has none of our descriptors but these two, not even the log's. The destructor ends it.
//
// One thread. Blocks.
class IngestProcess {
 public:
  // `own`: children of this process are entered there; null: nowhere. Fails with kToolMissing when there is no such
  // program, kSpawnFailed when it cannot be started.
  static Result<IngestProcess> Start(const std::string& program, int source_fd, const IngestRequest& request,
                                     OwnChildren* own);
  // Kills it, if it still lives, and waits for it.
  ~IngestProcess();
  IngestProcess(IngestProcess&& other) noexcept;
  IngestProcess& operator=(IngestProcess&&) = delete;

  // Tells how far the source has come. False: the process does not listen right now, so nothing was told.
  Result<bool> Tell(const SourceGrowth::State& grown);

  // The next frame, valid until the next call; nothing: none came within `wait_ms`. Fails when the process ended
  // without telling why: with kBadInput if the file took too much memory or processor time, else with kInternal.
  Result<std::optional<ReceivedFrame>> Receive(int wait_ms);

 private:
  IngestProcess(UniqueFd channel, pid_t pid, OwnChildren* own) : channel_(std::move(channel)), pid_(pid), own_(own) {}
  Status WhyEnded();
  int Wait();

  UniqueFd channel_;
  pid_t pid_ = -1;
  OwnChildren* own_ = nullptr;
  std::string bytes_;  // never shrinks: growing it again would zero its bytes first
  size_t filled_ = 0;  // of bytes_
  size_t taken_ = 0;   // of those
};

}  // namespace kprof

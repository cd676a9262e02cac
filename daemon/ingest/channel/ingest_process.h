// One kprof-ingest, from its start to its end: it takes apart the file that it is given, and says what is in it over a
// socket, and nowhere else: it has none of our descriptors but these two, also not what we log to. Ends with this.
//
// One thread. Blocks.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "daemon/ingest/channel/ingest_protocol.h"
#include "daemon/process/worker/own_children.h"
#include "storage/base/status.h"
#include "storage/base/unique_fd.h"

namespace kprof {

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

#include "daemon/ingest/trace_look.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "daemon/ingest/channel/ingest_process.h"
#include "daemon/ingest/channel/ingest_protocol.h"
#include "daemon/ingest/source/source_file.h"
#include "storage/base/message_coder.h"

namespace kprof {
namespace {

constexpr int kLookAtStopMs = 100;  // how long a request to stop may wait

Status LookNotUnderstood() {
  return Fail(ErrorCode::kInternal, "hear from kprof-ingest", "it says what is not to be understood",
              "restart kprofd: its programs may be of different builds");
}

bool IsOurHello(const ReceivedFrame& frame) {
  MessageDecoder message(frame.message);
  uint32_t protocol = 0;
  message.Read(protocol);
  return frame.type == IngestFrame::kHello && message.Ok() && protocol == kIngestProtocol;
}

Result<SourceLook> LookOf(const ReceivedFrame& frame) {
  if (frame.type == IngestFrame::kFacts) {
    std::optional<SourceFacts> facts = DecodeSourceFacts(frame.message);
    if (!facts) return LookNotUnderstood();
    return SourceLook{std::nullopt, *std::move(facts)};
  }
  const std::optional<Status> failure =
      frame.type == IngestFrame::kFailed ? DecodeFailure(frame.message) : std::nullopt;
  if (!failure) return LookNotUnderstood();
  if (failure->code() != ErrorCode::kNotFound) return *failure;
  return SourceLook{Status(ErrorCode::kBadInput, failure->what(), failure->why(), failure->remedy()), {}};
}

// The processors' time of all its threads: never reached before look_ms are over.
int64_t LookCpuSeconds(const ImportLimits& limits) {
  return 4 * (limits.look_ms / 1000 + 1);
}

Result<SourceLook> Hear(IngestProcess& reader, const ImportSource& source, const ImportLimits& limits,
                        const std::stop_token& stop) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(limits.look_ms);
  bool greeted = false;
  while (true) {
    if (stop.stop_requested()) return Fail(ErrorCode::kCancelled, "look at " + source.name, "it was cancelled");
    ASSIGN_OR_RETURN(const std::optional<ReceivedFrame> frame, reader.Receive(kLookAtStopMs));
    if (frame && greeted) return LookOf(*frame);
    if (frame && !IsOurHello(*frame)) return LookNotUnderstood();
    greeted = greeted || frame.has_value();
    if (std::chrono::steady_clock::now() >= until) return SourceLook{};
  }
}

}  // namespace

Result<SourceLook> LookAtTrace(const ImportSource& source, const ImportLimits& limits, const std::stop_token& stop) {
  const auto look = [&]() -> Result<SourceLook> {
    ASSIGN_OR_RETURN(const SourceFile file, SourceFile::Open(source.fd, source.name));
    IngestRequest request{.name = source.name,
                          .format = source.format,
                          .threads = 1,
                          .unpacked_bytes = limits.unpacked_bytes,
                          .memory_bytes = limits.memory_bytes,
                          .cpu_seconds = LookCpuSeconds(limits),
                          .look = true};
    ASSIGN_OR_RETURN(IngestProcess reader, IngestProcess::Start(limits.program, source.fd, request, limits.own));
    return Hear(reader, source, limits, stop);
  };
  Result<SourceLook> looked = look();
  if (looked.ok() || looked.status().what().find(source.name) != std::string::npos) return looked;
  return looked.status().In("import " + source.name);
}

}  // namespace kprof

#include "daemon/ingest/channel/frame_sink.h"

#include <unistd.h>

#include <cerrno>
#include <string>

namespace kprof {
namespace {

constexpr size_t kFrameBytes = 256 << 10;

}  // namespace

Status FrameSink::AddString(uint32_t id, std::string_view text) {
  return Send(IngestFrame::kString, EncodeString(id, text));
}

Status FrameSink::AddTrack(const TrackRow& track) {
  return Send(IngestFrame::kTrack, EncodeTrack(track));
}

Status FrameSink::AddShape(uint32_t id, const ArgShape& shape) {
  return Send(IngestFrame::kShape, EncodeShape(id, shape));
}

Status FrameSink::AddSegment(const EncodedSegment& segment) {
  return Send(IngestFrame::kSegment, EncodeSegment(segment));
}

Status FrameSink::AddSideTable(uint32_t id, const SideTable& table) {
  return Send(IngestFrame::kSideTable, EncodeSideTable(id, table));
}

Status FrameSink::AddSideSegment(const EncodedSideSegment& segment) {
  return Send(IngestFrame::kSideSegment, EncodeSideSegment(segment));
}

Status FrameSink::SetFact(std::string_view name, std::string_view text) {
  return Send(IngestFrame::kText, EncodeText(name, text));
}

Status FrameSink::SetFact(std::string_view name, int64_t value) {
  return Send(IngestFrame::kInteger, EncodeInteger(name, value));
}

Status FrameSink::SendNow(IngestFrame type, std::string_view message) {
  RETURN_IF_ERROR(Send(type, message));
  return Flush();
}

Status FrameSink::Send(IngestFrame type, std::string_view message) {
  if (message.size() > kMostFrameBytes) {
    return Fail(ErrorCode::kBadInput, "tell kprofd what was read",
                "a piece of it has more than " + std::to_string(kMostFrameBytes >> 20) + " MiB");
  }
  AppendFrame(type, message, waiting_);
  return waiting_.size() < kFrameBytes ? OkStatus() : Flush();
}

Status FrameSink::Flush() {
  for (size_t done = 0; done < waiting_.size();) {
    const ssize_t wrote = ::write(fd_, waiting_.data() + done, waiting_.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return FailErrno(errno, "tell kprofd what was read");
    done += static_cast<size_t>(wrote);
  }
  waiting_.clear();
  return OkStatus();
}

}  // namespace kprof

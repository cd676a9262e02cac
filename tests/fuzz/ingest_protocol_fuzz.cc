// What a process that took over kprof-ingest may say to kprofd. Frames are found as they are in any pieces; a message
// that is one is, sent again, the same bytes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "daemon/ingest/channel/ingest_protocol.h"

namespace kprof {
namespace {

using Frames = std::vector<std::pair<IngestFrame, std::string>>;

// Fed so many bytes at a time; false where they end in what is no frame.
bool Take(std::string_view bytes, size_t at_once, Frames& frames) {
  std::string buffer;
  while (!bytes.empty()) {
    buffer += bytes.substr(0, at_once);
    bytes.remove_prefix(std::min(at_once, bytes.size()));
    std::string_view rest = buffer;
    while (true) {
      const Result<std::optional<ReceivedFrame>> frame = TakeFrame(rest);
      if (!frame.ok()) return false;
      if (!*frame) break;
      frames.emplace_back((*frame)->type, (*frame)->message);
    }
    buffer.erase(0, buffer.size() - rest.size());
  }
  return true;
}

void Decode(IngestFrame type, std::string_view message) {
  switch (type) {
    case IngestFrame::kRequest:
      if (const auto m = DecodeIngestRequest(message)) KPROF_CHECK(EncodeIngestRequest(*m) == message);
      break;
    case IngestFrame::kString:
      if (const auto m = DecodeString(message)) KPROF_CHECK(EncodeString(m->id, m->text) == message);
      break;
    case IngestFrame::kTrack:
      if (const auto m = DecodeTrack(message)) KPROF_CHECK(DecodeTrack(EncodeTrack(*m)) == *m);
      break;
    case IngestFrame::kShape:
      if (const auto m = DecodeShape(message)) KPROF_CHECK(EncodeShape(m->id, m->shape) == message);
      break;
    case IngestFrame::kSegment:
      if (const auto m = DecodeSegment(message)) KPROF_CHECK(EncodeSegment(*m) == message);
      break;
    case IngestFrame::kSideTable:
      if (const auto m = DecodeSideTable(message)) KPROF_CHECK(EncodeSideTable(m->id, m->table) == message);
      break;
    case IngestFrame::kSideSegment:
      if (const auto m = DecodeSideSegment(message)) KPROF_CHECK(EncodeSideSegment(*m) == message);
      break;
    case IngestFrame::kText:
      if (const auto m = DecodeText(message)) KPROF_CHECK(EncodeText(m->name, m->text) == message);
      break;
    case IngestFrame::kInteger:
      if (const auto m = DecodeInteger(message)) KPROF_CHECK(EncodeInteger(m->name, m->value) == message);
      break;
    case IngestFrame::kFacts:
      if (const auto m = DecodeSourceFacts(message)) KPROF_CHECK(DecodeSourceFacts(EncodeSourceFacts(*m)) == m);
      break;
    case IngestFrame::kGrown:
      if (const auto m = DecodeGrown(message)) KPROF_CHECK(EncodeGrown(*m) == message);
      break;
    case IngestFrame::kProgress:
      if (const auto m = DecodeProgress(message)) KPROF_CHECK(EncodeProgress(*m) == message);
      break;
    case IngestFrame::kDone:
      if (const auto m = DecodeDone(message)) KPROF_CHECK(EncodeDone(*m) == message);
      break;
    case IngestFrame::kFailed:
      if (const auto m = DecodeFailure(message)) KPROF_CHECK(!m->ok() && EncodeFailure(*m) == message);
      break;
    default:
      break;
  }
}

}  // namespace
}  // namespace kprof

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kprof;
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  Frames whole;
  Frames pieces;
  const bool are_frames = Take(bytes, bytes.size(), whole);
  KPROF_CHECK(Take(bytes, size_t{1} + data[0], pieces) == are_frames && pieces == whole);
  for (const auto& [type, message] : whole) Decode(type, message);
  return 0;
}

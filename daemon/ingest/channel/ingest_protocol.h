// The protocol between kprof-ingest, which takes a hostile file apart, and kprofd, which writes the part: frames of u32
// size, u8 type and a message (message_coder.h), in both directions. Both programs are of one build: the first frame
// has the version of the protocol.
//
// Decoders take untrusted bytes. They return nothing for bytes that are no such message.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/ingest/source/source_facts.h"
#include "daemon/ingest/source/source_file.h"
#include "storage/base/status.h"
#include "storage/trace/format/event_args.h"
#include "storage/trace/format/side_table.h"
#include "storage/trace/format/trace_model.h"
#include "storage/trace/write/segment_maker.h"

namespace kprof {

constexpr uint32_t kIngestProtocol = 6;
constexpr size_t kMostFrameBytes = 256 << 20;
constexpr size_t kFrameHeadBytes = 5;

enum class IngestFrame : uint8_t {
  kHello = 1,         // u32 protocol
  kRequest = 2,       // goes to kprof-ingest
  kString = 3,        // u32 id, text
  kTrack = 4,         // TrackRow
  kShape = 5,         // u32 id, slots
  kSegment = 6,       // EncodedSegment
  kText = 7,          // a fact: name, text
  kInteger = 8,       // a fact: name, i64
  kProgress = 9,      // i64 bytes, i64 events
  kDone = 10,         // IngestDone
  kFailed = 11,       // a Status
  kSideTable = 13,    // u32 id, SideTable
  kSideSegment = 14,  // EncodedSideSegment
  kFacts = 15,        // SourceFacts, in place of all the others where a look was asked for
  kGrown = 12,        // i64 bytes, bool is_whole: how far a source that still comes has come; goes to kprof-ingest
};

// Appends a frame to `out`.
void AppendFrame(IngestFrame type, std::string_view message, std::string& out);

struct ReceivedFrame {
  IngestFrame type = IngestFrame::kHello;
  std::string_view message;
};
// Takes the first frame off `bytes`; nothing while it is not whole. Fails with kStorageBroken for a frame with more
// than kMostFrameBytes.
Result<std::optional<ReceivedFrame>> TakeFrame(std::string_view& bytes);

struct IngestRequest {
  std::string name;
  std::string format;
  uint32_t threads = 2;
  int64_t unpacked_bytes = 0;
  int64_t memory_bytes = 0;
  int64_t cpu_seconds = 0;
  bool grows = false;  // the source still comes: frames kGrown follow, up to one that says that it is whole
  bool look = false;   // it is looked at (source_reader.h), and no part is made of it
};
std::string EncodeIngestRequest(const IngestRequest& request);
std::optional<IngestRequest> DecodeIngestRequest(std::string_view message);

struct NumberedText {
  uint32_t id = 0;
  std::string text;
};
std::string EncodeString(uint32_t id, std::string_view text);
std::optional<NumberedText> DecodeString(std::string_view message);

std::string EncodeTrack(const TrackRow& track);
std::optional<TrackRow> DecodeTrack(std::string_view message);

struct NumberedShape {
  uint32_t id = 0;
  ArgShape shape;
};
std::string EncodeShape(uint32_t id, const ArgShape& shape);
std::optional<NumberedShape> DecodeShape(std::string_view message);

std::string EncodeSegment(const EncodedSegment& segment);
std::optional<EncodedSegment> DecodeSegment(std::string_view message);

struct NumberedSideTable {
  uint32_t id = 0;
  SideTable table;
};
std::string EncodeSideTable(uint32_t id, const SideTable& table);
std::optional<NumberedSideTable> DecodeSideTable(std::string_view message);

std::string EncodeSideSegment(const EncodedSideSegment& segment);
std::optional<EncodedSideSegment> DecodeSideSegment(std::string_view message);

struct NamedText {
  std::string name;
  std::string text;
};
std::string EncodeText(std::string_view name, std::string_view text);
std::optional<NamedText> DecodeText(std::string_view message);

struct NamedInteger {
  std::string name;
  int64_t value = 0;
};
std::string EncodeInteger(std::string_view name, int64_t value);
std::optional<NamedInteger> DecodeInteger(std::string_view message);

struct IngestProgress {
  int64_t bytes = 0;
  int64_t events = 0;
};
std::string EncodeProgress(const IngestProgress& progress);
std::optional<IngestProgress> DecodeProgress(std::string_view message);

struct IngestDone {
  std::string format;
  std::string hash;
  std::vector<std::string> warnings;
};
std::string EncodeDone(const IngestDone& done);
std::optional<IngestDone> DecodeDone(std::string_view message);

std::string EncodeSourceFacts(const SourceFacts& facts);
std::optional<SourceFacts> DecodeSourceFacts(std::string_view message);

std::string EncodeGrown(const SourceGrowth::State& grown);
std::optional<SourceGrowth::State> DecodeGrown(std::string_view message);

std::string EncodeFailure(const Status& failure);
std::optional<Status> DecodeFailure(std::string_view message);

}  // namespace kprof

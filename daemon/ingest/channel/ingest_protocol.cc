#include "daemon/ingest/channel/ingest_protocol.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "storage/base/message_coder.h"
#include "storage/trace/format/column_codec.h"
#include "storage/trace/format/part_schema.h"
#include "storage/trace/format/trace_model.h"

namespace kprof {
namespace {

void Add(MessageEncoder& message, const std::optional<std::string>& text) {
  message.Add(static_cast<uint8_t>(text.has_value()));
  message.Add(text.value_or(""));
}
void Add(MessageEncoder& message, const std::optional<int64_t>& value) {
  message.Add(static_cast<uint8_t>(value.has_value()));
  message.Add(value.value_or(0));
}
template <typename T>
void Read(MessageDecoder& message, std::optional<T>& value) {
  bool present = false;
  T read{};
  message.Read(present);
  message.Read(read);
  if (present) value = std::move(read);
}

bool IsCodec(uint8_t codec) {
  return codec >= static_cast<uint8_t>(ColumnCodec::kConstant) &&
         codec <= static_cast<uint8_t>(ColumnCodec::kDeltaPlanes);
}

void Add(MessageEncoder& message, const EncodedColumn& column) {
  message.Add(static_cast<uint8_t>(column.codec));
  message.Add(column.min);
  message.Add(column.max);
  message.Add(column.bytes);
}
// False for one of no codec.
bool Read(MessageDecoder& message, EncodedColumn& column) {
  uint8_t codec = 0;
  message.Read(codec);
  message.Read(column.min);
  message.Read(column.max);
  message.Read(column.bytes);
  if (!IsCodec(codec)) return false;
  column.codec = static_cast<ColumnCodec>(codec);
  return true;
}

}  // namespace

void AppendFrame(IngestFrame type, std::string_view message, std::string& out) {
  KPROF_CHECK(message.size() <= kMostFrameBytes);
  const auto size = static_cast<uint32_t>(message.size());
  char head[kFrameHeadBytes];
  std::memcpy(head, &size, sizeof(size));
  head[4] = static_cast<char>(type);
  out.append(head, sizeof(head));
  out += message;
}

Result<std::optional<ReceivedFrame>> TakeFrame(std::string_view& bytes) {
  if (bytes.size() < kFrameHeadBytes) return std::optional<ReceivedFrame>();
  uint32_t size = 0;
  std::memcpy(&size, bytes.data(), sizeof(size));
  if (size > kMostFrameBytes) {
    return Fail(ErrorCode::kStorageBroken, "hear from kprof-ingest", "it announces " + std::to_string(size) + " bytes");
  }
  if (bytes.size() - kFrameHeadBytes < size) return std::optional<ReceivedFrame>();
  const auto type = static_cast<IngestFrame>(bytes[4]);
  ReceivedFrame frame{type, bytes.substr(kFrameHeadBytes, size)};
  bytes.remove_prefix(kFrameHeadBytes + size);
  return std::optional<ReceivedFrame>(frame);
}

std::string EncodeIngestRequest(const IngestRequest& request) {
  MessageEncoder message;
  message.Add(request.name);
  message.Add(request.format);
  message.Add(request.threads);
  message.Add(request.unpacked_bytes);
  message.Add(request.memory_bytes);
  message.Add(request.cpu_seconds);
  message.Add(static_cast<uint8_t>(request.grows));
  message.Add(static_cast<uint8_t>(request.look));
  return message.Take();
}

std::optional<IngestRequest> DecodeIngestRequest(std::string_view bytes) {
  MessageDecoder message(bytes);
  IngestRequest request;
  message.Read(request.name);
  message.Read(request.format);
  message.Read(request.threads);
  message.Read(request.unpacked_bytes);
  message.Read(request.memory_bytes);
  message.Read(request.cpu_seconds);
  message.Read(request.grows);
  message.Read(request.look);
  if (!message.Ok()) return std::nullopt;
  return request;
}

std::string EncodeString(uint32_t id, std::string_view text) {
  MessageEncoder message;
  message.Add(id);
  message.Add(std::string(text));
  return message.Take();
}

std::optional<NumberedText> DecodeString(std::string_view bytes) {
  MessageDecoder message(bytes);
  NumberedText text;
  message.Read(text.id);
  message.Read(text.text);
  if (!message.Ok()) return std::nullopt;
  return text;
}

std::string EncodeTrack(const TrackRow& track) {
  MessageEncoder message;
  message.Add(track.id);
  message.Add(track.kind);
  message.Add(track.name);
  Add(message, track.pid);
  Add(message, track.tid);
  Add(message, track.process);
  Add(message, track.device);
  Add(message, track.stream);
  Add(message, track.sort_index);
  return message.Take();
}

std::optional<TrackRow> DecodeTrack(std::string_view bytes) {
  MessageDecoder message(bytes);
  TrackRow track;
  message.Read(track.id);
  message.Read(track.kind);
  message.Read(track.name);
  Read(message, track.pid);
  Read(message, track.tid);
  Read(message, track.process);
  Read(message, track.device);
  Read(message, track.stream);
  Read(message, track.sort_index);
  if (!message.Ok()) return std::nullopt;
  return track;
}

std::string EncodeShape(uint32_t id, const ArgShape& shape) {
  MessageEncoder message;
  message.Add(id);
  message.Add(static_cast<uint32_t>(shape.size()));
  for (const ArgSlot& slot : shape) {
    message.Add(slot.key);
    message.Add(static_cast<uint8_t>(slot.type));
    message.Add(static_cast<uint8_t>(slot.of_event));
  }
  return message.Take();
}

std::optional<NumberedShape> DecodeShape(std::string_view bytes) {
  MessageDecoder message(bytes);
  NumberedShape shape;
  message.Read(shape.id);
  const uint32_t slots = message.ReadCount(6);
  for (uint32_t i = 0; i < slots; ++i) {
    ArgSlot slot;
    uint8_t type = 0;
    message.Read(slot.key);
    message.Read(type);
    message.Read(slot.of_event);
    if (type < static_cast<uint8_t>(ArgType::kNull) || type > static_cast<uint8_t>(ArgType::kCorrelation)) {
      return std::nullopt;
    }
    slot.type = static_cast<ArgType>(type);
    shape.shape.push_back(slot);
  }
  if (!message.Ok()) return std::nullopt;
  return shape;
}

std::string EncodeSegment(const EncodedSegment& segment) {
  MessageEncoder message;
  message.Add(static_cast<uint8_t>(segment.kind));
  message.Add(segment.rows);
  message.Add(segment.min_time_ns);
  message.Add(segment.max_time_ns);
  message.Add(segment.max_end_ns);
  message.Add(static_cast<uint32_t>(segment.columns.size()));
  for (const EncodedSegment::Column& column : segment.columns) {
    message.Add(column.shape);
    message.Add(column.column);
    message.Add(column.rows);
    Add(message, column.encoded);
  }
  return message.Take();
}

std::optional<EncodedSegment> DecodeSegment(std::string_view bytes) {
  MessageDecoder message(bytes);
  EncodedSegment segment;
  uint8_t kind = 0;
  message.Read(kind);
  message.Read(segment.rows);
  message.Read(segment.min_time_ns);
  message.Read(segment.max_time_ns);
  message.Read(segment.max_end_ns);
  const uint32_t columns = message.ReadCount(33);
  if (kind < 1 || kind > kEventKinds || segment.rows < 1 || segment.rows > kMaxSegmentRows) return std::nullopt;
  segment.kind = static_cast<EventKind>(kind);
  for (uint32_t i = 0; i < columns; ++i) {
    EncodedSegment::Column column;
    message.Read(column.shape);
    message.Read(column.column);
    message.Read(column.rows);
    if (!Read(message, column.encoded) || column.shape >= kMostShapes || column.column >= kMostShapeSlots ||
        column.rows < 1 || column.rows > segment.rows) {
      return std::nullopt;
    }
    segment.columns.push_back(std::move(column));
  }
  if (!message.Ok()) return std::nullopt;
  return segment;
}

std::string EncodeSideTable(uint32_t id, const SideTable& table) {
  MessageEncoder message;
  message.Add(id);
  message.Add(table.name);
  message.Add(static_cast<uint32_t>(table.columns.size()));
  for (const SideColumn& column : table.columns) {
    message.Add(column.name);
    message.Add(static_cast<uint8_t>(column.type));
    message.Add(column.unit);
  }
  return message.Take();
}

std::optional<NumberedSideTable> DecodeSideTable(std::string_view bytes) {
  MessageDecoder message(bytes);
  NumberedSideTable table;
  message.Read(table.id);
  message.Read(table.table.name);
  const uint32_t columns = message.ReadCount(9);
  if (columns > kMostSideColumns) return std::nullopt;
  for (uint32_t i = 0; i < columns; ++i) {
    SideColumn column;
    uint8_t type = 0;
    message.Read(column.name);
    message.Read(type);
    message.Read(column.unit);
    column.type = static_cast<SideType>(type);
    table.table.columns.push_back(std::move(column));
  }
  if (!message.Ok() || !CheckSideTable(table.table).ok()) return std::nullopt;
  return table;
}

std::string EncodeSideSegment(const EncodedSideSegment& segment) {
  MessageEncoder message;
  message.Add(segment.table);
  message.Add(segment.rows);
  message.Add(static_cast<uint32_t>(segment.columns.size()));
  for (const EncodedColumn& column : segment.columns) Add(message, column);
  return message.Take();
}

std::optional<EncodedSideSegment> DecodeSideSegment(std::string_view bytes) {
  MessageDecoder message(bytes);
  EncodedSideSegment segment;
  message.Read(segment.table);
  message.Read(segment.rows);
  const uint32_t columns = message.ReadCount(21);
  if (segment.table >= kMostSideTables || segment.rows < 1 || segment.rows > kMaxSegmentRows ||
      columns > kMostSideColumns) {
    return std::nullopt;
  }
  for (uint32_t i = 0; i < columns; ++i) {
    EncodedColumn column;
    if (!Read(message, column)) return std::nullopt;
    segment.columns.push_back(std::move(column));
  }
  if (!message.Ok()) return std::nullopt;
  return segment;
}

std::string EncodeText(std::string_view name, std::string_view text) {
  MessageEncoder message;
  message.Add(std::string(name));
  message.Add(std::string(text));
  return message.Take();
}

std::optional<NamedText> DecodeText(std::string_view bytes) {
  MessageDecoder message(bytes);
  NamedText text;
  message.Read(text.name);
  message.Read(text.text);
  if (!message.Ok()) return std::nullopt;
  return text;
}

std::string EncodeInteger(std::string_view name, int64_t value) {
  MessageEncoder message;
  message.Add(std::string(name));
  message.Add(value);
  return message.Take();
}

std::optional<NamedInteger> DecodeInteger(std::string_view bytes) {
  MessageDecoder message(bytes);
  NamedInteger integer;
  message.Read(integer.name);
  message.Read(integer.value);
  if (!message.Ok()) return std::nullopt;
  return integer;
}

std::string EncodeProgress(const IngestProgress& progress) {
  MessageEncoder message;
  message.Add(progress.bytes);
  message.Add(progress.events);
  return message.Take();
}

std::optional<IngestProgress> DecodeProgress(std::string_view bytes) {
  MessageDecoder message(bytes);
  IngestProgress progress;
  message.Read(progress.bytes);
  message.Read(progress.events);
  if (!message.Ok()) return std::nullopt;
  return progress;
}

std::string EncodeDone(const IngestDone& done) {
  MessageEncoder message;
  message.Add(done.format);
  message.Add(done.hash);
  message.Add(done.warnings);
  return message.Take();
}

std::optional<IngestDone> DecodeDone(std::string_view bytes) {
  MessageDecoder message(bytes);
  IngestDone done;
  message.Read(done.format);
  message.Read(done.hash);
  message.Read(done.warnings);
  if (!message.Ok()) return std::nullopt;
  return done;
}

std::string EncodeSourceFacts(const SourceFacts& facts) {
  MessageEncoder message;
  Add(message, facts.rank);
  Add(message, facts.world_size);
  message.Add(facts.job);
  message.Add(facts.backend);
  message.Add(facts.library);
  Add(message, facts.start_unix_ns);
  Add(message, facts.start_of_quarter_ns);
  message.Add(facts.joins_trace);
  message.Add(facts.is_table);
  message.Add(static_cast<uint32_t>(facts.groups.size()));
  for (const SourceFacts::Group& group : facts.groups) {
    message.Add(group.name);
    message.Add(group.kind);
    message.Add(static_cast<uint32_t>(group.ranks.size()));
    for (const int64_t rank : group.ranks) message.Add(rank);
  }
  return message.Take();
}

std::optional<SourceFacts> DecodeSourceFacts(std::string_view bytes) {
  MessageDecoder message(bytes);
  SourceFacts facts;
  Read(message, facts.rank);
  Read(message, facts.world_size);
  message.Read(facts.job);
  message.Read(facts.backend);
  message.Read(facts.library);
  Read(message, facts.start_unix_ns);
  Read(message, facts.start_of_quarter_ns);
  message.Read(facts.joins_trace);
  message.Read(facts.is_table);
  uint32_t groups = 0;
  message.Read(groups);
  if (groups > kMostFactGroups) return std::nullopt;
  size_t all_ranks = 0;
  for (uint32_t i = 0; i < groups; ++i) {
    SourceFacts::Group& group = facts.groups.emplace_back();
    message.Read(group.name);
    message.Read(group.kind);
    uint32_t ranks = 0;
    message.Read(ranks);
    all_ranks += ranks;
    if (all_ranks > kMostFactRanks) return std::nullopt;
    group.ranks.resize(ranks);
    for (int64_t& rank : group.ranks) message.Read(rank);
  }
  if (!message.Ok()) return std::nullopt;
  const auto is_in = [](const std::optional<int64_t>& ns, int64_t limit) { return !ns || (*ns >= 0 && *ns < limit); };
  if (!is_in(facts.start_unix_ns, kLatestStartUnixNs) || !is_in(facts.start_of_quarter_ns, kQuarterNs)) {
    return std::nullopt;
  }
  // They are compared with those of all other sources: each is small, whatever sent them.
  for (const std::string* text : {&facts.job, &facts.backend, &facts.library}) {
    if (text->size() > kMostFactTextBytes) return std::nullopt;
  }
  for (const SourceFacts::Group& group : facts.groups) {
    const bool is_small = group.name.size() <= kMostFactTextBytes && group.kind.size() <= kMostFactTextBytes;
    if (!is_small || !std::is_sorted(group.ranks.begin(), group.ranks.end())) return std::nullopt;
  }
  return facts;
}

std::string EncodeGrown(const SourceGrowth::State& grown) {
  MessageEncoder message;
  message.Add(grown.bytes);
  message.Add(static_cast<uint8_t>(grown.is_whole));
  return message.Take();
}

std::optional<SourceGrowth::State> DecodeGrown(std::string_view bytes) {
  MessageDecoder message(bytes);
  SourceGrowth::State grown;
  message.Read(grown.bytes);
  message.Read(grown.is_whole);
  if (!message.Ok()) return std::nullopt;
  return grown;
}

std::string EncodeFailure(const Status& failure) {
  MessageEncoder message;
  message.Add(std::string(ErrorName(failure.code())));
  message.Add(failure.what());
  message.Add(failure.why());
  message.Add(failure.remedy());
  return message.Take();
}

std::optional<Status> DecodeFailure(std::string_view bytes) {
  MessageDecoder message(bytes);
  std::string code;
  std::string what;
  std::string why;
  std::string remedy;
  message.Read(code);
  message.Read(what);
  message.Read(why);
  message.Read(remedy);
  const std::optional<ErrorCode> known = ErrorCodeByName(code);
  if (!message.Ok() || !known || *known == ErrorCode::kOk) return std::nullopt;
  return Status(*known, std::move(what), std::move(why), std::move(remedy));
}

}  // namespace kprof

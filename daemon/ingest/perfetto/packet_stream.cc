#include "daemon/ingest/perfetto/packet_stream.h"

#include <isa-l/igzip_lib.h>
#include <zstd.h>

#include <algorithm>
#include <utility>

#include "daemon/ingest/source/proto_fields.h"

namespace kprof {
namespace {

constexpr uint32_t kTracePacketField = 1;  // of perfetto.protos.Trace
constexpr size_t kWindowBytes = 1 << 20;
constexpr size_t kMostFrameBytes = 16;  // of a tag and a size
constexpr int64_t kBytesPerLook = 4 << 20;
constexpr size_t kMostUnreadFields = 256;
constexpr size_t kUnpackStepBytes = 256 << 10;
constexpr int kMostZstdWindowBits = 27;

// Fields of a TracePacket.
enum PacketField : uint32_t {
  kSnapshotField = 6,
  kTimestampField = 8,
  kSequenceField = 10,
  kEventField = 11,
  kInternedField = 12,
  kFlagsField = 13,
  kUserIdField = 3,
  kClearedField = 41,
  kPreviousDroppedField = 42,
  kDeflateField = 50,
  kGpuCountersField = 52,
  kRenderStageField = 53,
  kClockField = 58,
  kDefaultsField = 59,
  kDescriptorField = 60,
  kProcessIdField = 79,
  kFirstOnSequenceField = 87,
  kMachineField = 98,
  kZstdField = 133,
};

}  // namespace

TracePacket ReadTracePacket(std::string_view bytes) {
  TracePacket packet;
  ProtoFields fields(bytes);
  while (fields.Next()) {
    switch (fields.number()) {
      case kTimestampField:
        packet.timestamp = fields.value();
        break;
      case kClockField:
        packet.clock = fields.value();
        break;
      case kSequenceField:
        packet.sequence = fields.value();
        break;
      case kFlagsField:
        packet.clears_state |= (fields.value() & 1) != 0;
        break;
      case kClearedField:
        packet.clears_state |= fields.value() != 0;
        break;
      case kInternedField:
        packet.interned_data = fields.bytes();
        break;
      case kDefaultsField:
        packet.defaults = fields.bytes();
        break;
      case kSnapshotField:
        packet.clock_snapshot = fields.bytes();
        break;
      case kDescriptorField:
        packet.track_descriptor = fields.bytes();
        break;
      case kEventField:
        packet.track_event = fields.bytes();
        break;
      case kRenderStageField:
        packet.render_stage = fields.bytes();
        break;
      case kGpuCountersField:
        packet.gpu_counters = fields.bytes();
        break;
      case kDeflateField:
        packet.packed_deflate = fields.bytes();
        break;
      case kZstdField:
        packet.packed_zstd = fields.bytes();
        break;
      case kUserIdField:
      case kPreviousDroppedField:
      case kProcessIdField:
      case kFirstOnSequenceField:
      case kMachineField:
        break;
      default:
        packet.unread = fields.number();
    }
  }
  packet.is_whole = fields.is_whole();
  return packet;
}

struct PacketStream::Inflater {
  inflate_state state = {};
  std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> zstd{nullptr, ZSTD_freeDCtx};
};

PacketStream::PacketStream(TextSource& text, const Limits& limits, bool keeps)
    : text_(text), limits_(limits), keeps_(keeps) {}

PacketStream::~PacketStream() = default;

Result<std::string_view> PacketStream::Window(size_t least_bytes) {
  size_t skipped = static_cast<size_t>(offset_ - buffer_begin_);
  if (buffered_ - std::min(skipped, buffered_) >= least_bytes || at_end_) {
    if (skipped >= buffered_) return std::string_view();
    return std::string_view(buffer_.data() + skipped, buffered_ - skipped);
  }
  const size_t kept = buffered_ - std::min(skipped, buffered_);
  if (kept > 0) std::copy_n(buffer_.data() + skipped, kept, buffer_.data());
  buffer_begin_ = offset_;
  buffered_ = kept;
  buffer_.resize(std::max(kWindowBytes, least_bytes));
  const std::span<char> room(buffer_.data() + kept, buffer_.size() - kept);
  ASSIGN_OR_RETURN(const size_t got, text_.ReadAt(offset_ + static_cast<int64_t>(kept), room));
  buffered_ += got;
  at_end_ = got < room.size();
  if (!keeps_) text_.Release(buffer_begin_ + static_cast<int64_t>(buffered_));
  return std::string_view(buffer_.data(), buffered_);
}

void PacketStream::StopAt(std::string why) {
  why_stopped_ = std::move(why) + " at byte " + std::to_string(offset_) + "; what follows is missing";
}

Status PacketStream::ForEach(const See& see, const std::function<Status(int64_t offset_bytes)>& progress) {
  int64_t next_look = 0;
  while (true) {
    if (offset_ >= next_look) {
      RETURN_IF_ERROR(progress(offset_));
      next_look = offset_ + kBytesPerLook;
    }
    ASSIGN_OR_RETURN(std::string_view window, Window(kMostFrameBytes));
    if (window.empty()) break;
    const char* at = window.data();
    const char* const end = at + window.size();
    const std::optional<uint64_t> tag = ReadVarint(at, end);
    const bool is_bytes = tag && (*tag & 7) == ProtoFields::kBytes && *tag >> 3 != 0;
    const std::optional<uint64_t> size = is_bytes ? ReadVarint(at, end) : std::nullopt;
    if (!size || *size >= uint64_t{1} << 62) {
      StopAt(at_end_ && at == end ? "it ends within a packet" : "there is no packet");
      break;
    }
    const auto head_bytes = static_cast<size_t>(at - window.data());
    if (*size > static_cast<uint64_t>(limits_.packet_bytes)) {
      ++too_large_;
      // Its last byte is there: it is no packet that is cut off.
      const int64_t last = offset_ + static_cast<int64_t>(head_bytes + *size) - 1;
      offset_ = last;
      ASSIGN_OR_RETURN(window, Window(1));
      if (window.empty()) {
        StopAt("it ends within a packet");
        break;
      }
      ++offset_;
      continue;
    }
    ASSIGN_OR_RETURN(window, Window(head_bytes + static_cast<size_t>(*size)));
    if (window.size() < head_bytes + *size) {
      StopAt("it ends within a packet");
      break;
    }
    if (*tag >> 3 == kTracePacketField) {
      RETURN_IF_ERROR(SeePacket(window.substr(head_bytes, static_cast<size_t>(*size)), see, false));
    }
    offset_ += static_cast<int64_t>(head_bytes + *size);
  }
  return progress(offset_);
}

Status PacketStream::SeePacket(std::string_view bytes, const See& see, bool is_packed) {
  const TracePacket packet = ReadTracePacket(bytes);
  if (!packet.is_whole) ++broken_;
  if (packet.unread != 0 && (unread_.size() < kMostUnreadFields || unread_.contains(packet.unread))) {
    ++unread_[packet.unread];
  }
  if (!packet.packed_deflate.empty() || !packet.packed_zstd.empty()) {
    if (is_packed) {
      ++not_unpacked_;  // nobody packs twice
      return OkStatus();
    }
    const bool is_zstd = packet.packed_deflate.empty();
    return SeePacked(is_zstd ? packet.packed_zstd : packet.packed_deflate, is_zstd, see);
  }
  return see(packet);
}

Status PacketStream::SeePacked(std::string_view packed, bool is_zstd, const See& see) {
  if (inflater_ == nullptr) inflater_ = std::make_unique<Inflater>();
  unpacked_.clear();
  bool is_good = false;
  const auto has_room = [&] {
    return static_cast<int64_t>(unpacked_.size()) < limits_.packet_bytes &&
           unpacked_bytes_ + static_cast<int64_t>(unpacked_.size()) < limits_.unpacked_bytes;
  };
  if (is_zstd) {
    if (inflater_->zstd == nullptr) {
      inflater_->zstd.reset(ZSTD_createDCtx());
      if (inflater_->zstd != nullptr) {
        ZSTD_DCtx_setParameter(inflater_->zstd.get(), ZSTD_d_windowLogMax, kMostZstdWindowBits);
      }
    }
    ZSTD_DCtx* const context = inflater_->zstd.get();
    ZSTD_inBuffer in{packed.data(), packed.size(), 0};
    if (context != nullptr) ZSTD_DCtx_reset(context, ZSTD_reset_session_only);
    while (context != nullptr && has_room()) {
      const size_t made = unpacked_.size();
      unpacked_.resize(made + kUnpackStepBytes);
      ZSTD_outBuffer out{unpacked_.data() + made, kUnpackStepBytes, 0};
      const size_t left = ZSTD_decompressStream(context, &out, &in);
      unpacked_.resize(made + (ZSTD_isError(left) != 0 ? 0 : out.pos));
      is_good = left == 0;
      if (ZSTD_isError(left) != 0 || left == 0 || out.pos == 0) break;
    }
  } else {
    inflate_state& state = inflater_->state;
    isal_inflate_init(&state);
    state.crc_flag = ISAL_ZLIB;
    state.next_in = reinterpret_cast<uint8_t*>(const_cast<char*>(packed.data()));  // which it does not write to
    state.avail_in = static_cast<uint32_t>(packed.size());
    while (has_room()) {
      const size_t made = unpacked_.size();
      unpacked_.resize(made + kUnpackStepBytes);
      state.next_out = reinterpret_cast<uint8_t*>(unpacked_.data() + made);
      state.avail_out = static_cast<uint32_t>(kUnpackStepBytes);
      const int result = isal_inflate(&state);
      const size_t left = std::min<size_t>(state.avail_out, kUnpackStepBytes);
      unpacked_.resize(made + (result < 0 ? 0 : kUnpackStepBytes - left));
      is_good = result >= 0 && state.block_state == ISAL_BLOCK_FINISH;
      if (result < 0 || is_good || left == kUnpackStepBytes) break;
    }
  }
  unpacked_bytes_ += static_cast<int64_t>(unpacked_.size());
  if (!is_good) ++not_unpacked_;  // the packets before the damage are there
  ProtoFields packets(unpacked_);
  while (packets.Next()) {
    if (packets.number() != kTracePacketField || packets.is_number()) continue;
    RETURN_IF_ERROR(SeePacket(packets.bytes(), see, true));
  }
  return OkStatus();
}

void PacketStream::WarnOf(const std::function<void(std::string what)>& warn) const {
  if (!why_stopped_.empty()) warn(why_stopped_);
  if (broken_ > 0) warn(std::to_string(broken_) + " packets are damaged: what cannot be read of them is missing");
  if (too_large_ > 0) {
    warn(std::to_string(too_large_) + " packets have more than " + std::to_string(limits_.packet_bytes >> 20) +
         " MiB: they were left out");
  }
  if (not_unpacked_ > 0) {
    warn(std::to_string(not_unpacked_) + " packed packets could not be unpacked, or not up to their end");
  }
}

bool LooksLikePerfetto(std::span<const char> first) {
  const char* at = first.data();
  const char* const end = at + first.size();
  constexpr char kPacketTag = kTracePacketField << 3 | ProtoFields::kBytes;
  if (first.empty() || *at != kPacketTag) return false;
  ++at;
  const std::optional<uint64_t> size = ReadVarint(at, end);
  if (!size || *size == 0) return false;
  const auto there = static_cast<uint64_t>(end - at);
  const bool is_all = there >= *size;
  const std::string_view body(at, static_cast<size_t>(std::min(there, *size)));
  // A text may begin with a line break, too: the fields must be such as packets have.
  ProtoFields fields(body);
  size_t known = 0;
  constexpr uint32_t kMostField = 1023;
  while (fields.Next()) {
    if (fields.number() > kMostField) return false;
    switch (fields.number()) {
      case kTimestampField:
      case kSequenceField:
      case kFlagsField:
      case kClockField:
        if (fields.type() != ProtoFields::kVarint) return false;
        ++known;
        break;
      case kSnapshotField:
      case kEventField:
      case kInternedField:
      case kDefaultsField:
      case kDescriptorField:
      case kDeflateField:
      case kGpuCountersField:
      case kRenderStageField:
      case kZstdField: {
        if (fields.is_number()) return false;
        ++known;
        break;
      }
      default:
        break;
    }
  }
  if (!is_all) {
    // Cut off where nothing could be said yet: a large packet that begins as packets do.
    ProtoFields begin(body);
    if (known > 0) return true;
    const char* tag_at = body.data();
    const std::optional<uint64_t> tag = ReadVarint(tag_at, body.data() + body.size());
    return tag && (*tag >> 3 == kDeflateField || *tag >> 3 == kZstdField || *tag >> 3 == kInternedField ||
                   *tag >> 3 == kEventField);
  }
  const bool is_last = there == *size;
  return fields.is_whole() && known > 0 && (is_last || body.data()[*size] == kPacketTag);
}

}  // namespace kprof

// Packets of a Perfetto trace on one sequence: strings are sent once, with the first packet that names them, and are
// numbers from then on.
//
// One thread.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>

#include "daemon/exports/part_texts.h"
#include "daemon/exports/segment_rows.h"
#include "daemon/exports/trace_export.h"
#include "storage/base/status.h"
#include "storage/trace/read/part_reader.h"

namespace kprof {

// Appends fields of protocol buffers to a text, as far as an export needs them.
// https://protobuf.dev/programming-guides/encoding
class ProtoBytes {
 public:
  const std::string& bytes() const { return bytes_; }
  bool empty() const { return bytes_.empty(); }
  void Clear() { bytes_.clear(); }

  // For (u)int32, (u)int64, bool and enums; a negative int64 as its two's complement.
  void Varint(uint32_t field, uint64_t value) {
    AppendVarint(uint64_t{field} << 3 | kVarintType);
    AppendVarint(value);
  }
  void Integer(uint32_t field, int64_t value) { Varint(field, static_cast<uint64_t>(value)); }
  void Fixed64(uint32_t field, uint64_t value) {
    AppendVarint(uint64_t{field} << 3 | kFixed64Type);
    for (int shift = 0; shift < 64; shift += 8) bytes_ += static_cast<char>(value >> shift & 0xff);
  }
  void Double(uint32_t field, double value) { Fixed64(field, std::bit_cast<uint64_t>(value)); }
  // REQUIRES: a string is UTF-8.
  void Bytes(uint32_t field, std::string_view value) {
    AppendVarint(uint64_t{field} << 3 | kBytesType);
    AppendVarint(value.size());
    bytes_ += value;
  }
  void Message(uint32_t field, const ProtoBytes& value) { Bytes(field, value.bytes()); }

 private:
  static constexpr uint64_t kVarintType = 0;
  static constexpr uint64_t kFixed64Type = 1;
  static constexpr uint64_t kBytesType = 2;

  void AppendVarint(uint64_t value) {
    std::array<char, 10> bytes;
    size_t size = 0;
    for (; value >= 0x80; value >>= 7) bytes[size++] = static_cast<char>(value | 0x80);
    bytes[size++] = static_cast<char>(value);
    bytes_.append(bytes.data(), size);
  }

  std::string bytes_;
};

enum class PerfettoEvent : uint8_t { kBegin = 1, kEnd = 2, kInstant = 3, kCounter = 4 };

// The packets of one part, on a sequence of its own: strings are interned under their numbers in the part.
class PerfettoPackets {
 public:
  // All are borrowed.
  PerfettoPackets(PartReader& part, uint32_t sequence, ExportOutput& output);

  // Forgets the strings that were sent. Call it first on a sequence; it is done again after many strings.
  void ClearState();
  void AddDescriptor(const ProtoBytes& descriptor);
  // Says that the trace's clock was at `trace_ns` at the point in time `unix_ns`.
  void AddClocks(uint64_t trace_ns, uint64_t unix_ns);

  // An event is made step by step: Begin, then its fields, then Send.
  void Begin(uint64_t time_ns, PerfettoEvent type, uint64_t track);
  Status SetName(int64_t name);
  Status SetCategory(int64_t category);
  void SetCounter(double value);
  void AddFlow(uint64_t id, bool is_last);
  Status AddArgs(std::span<const SegmentRows::Arg> args, int64_t correlation);
  void AddNote(std::string_view key, int64_t value);
  void AddNote(std::string_view key, std::string_view value);
  void Send();

 private:
  void SetNumber(std::string_view text);
  uint64_t Interned(std::unordered_set<int64_t>& sent, uint32_t field, int64_t id, std::string_view text);
  void SendPacket(ProtoBytes& packet, uint64_t flags);

  const uint32_t sequence_;
  ExportOutput& output_;
  PartTexts texts_;   // as UTF-8
  PartTexts values_;  // lists and objects
  EnvironmentArgs left_out_;
  std::unordered_set<int64_t> names_;
  std::unordered_set<int64_t> categories_;
  std::unordered_set<int64_t> keys_;
  // These are of the event that is being made.
  uint64_t time_ns_ = 0;
  ProtoBytes event_;
  ProtoBytes interned_;
  ProtoBytes piece_;
  ProtoBytes packet_;
  ProtoBytes framed_;
};

}  // namespace kprof

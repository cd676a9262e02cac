// Packets of a Perfetto trace on one sequence: strings are sent once, with the first packet that names them, and are
// numbers from then on.
//
// One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_set>

#include "daemon/exports/export_sink.h"
#include "daemon/exports/left_out_args.h"
#include "daemon/exports/part_texts.h"
#include "daemon/exports/proto_bytes.h"
#include "daemon/exports/segment_rows.h"
#include "storage/base/status.h"
#include "storage/trace/read/part_reader.h"

namespace kprof {

enum class PerfettoEvent : uint8_t { kBegin = 1, kEnd = 2, kInstant = 3, kCounter = 4 };

class PerfettoPackets {
 public:
  // A sequence for each part: the numbers of its strings are the interned ones. All are borrowed.
  PerfettoPackets(PartReader& part, uint32_t sequence, ExportOutput& output);

  // Forgets what was sent of strings; the first thing on a sequence, and again after many strings.
  void ClearState();
  void AddDescriptor(const ProtoBytes& descriptor);
  // Where the trace's clock was at a point in time.
  void AddClocks(uint64_t trace_ns, uint64_t unix_ns);

  // An event, part by part: Begin, what it has, Send.
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
  // Of the event that is being made.
  uint64_t time_ns_ = 0;
  ProtoBytes event_;
  ProtoBytes interned_;
  ProtoBytes piece_;
  ProtoBytes packet_;
  ProtoBytes framed_;
};

}  // namespace kprof

#include "daemon/ingest/ncu/ncu_report_reader.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "daemon/ingest/ncu/kernel_sources.h"
#include "daemon/ingest/ncu/launch_results.h"
#include "daemon/ingest/ncu/report_messages.h"
#include "daemon/ingest/ncu/report_rows.h"
#include "daemon/ingest/source/proto_fields.h"
#include "daemon/ingest/source/source_facts.h"
#include "daemon/ingest/text/environment_text.h"
#include "daemon/ingest/text/json_text.h"

namespace kprof {
namespace {

constexpr const char* kReadAsNcuReport = "read it as a report of Nsight Compute";
constexpr std::string_view kReportMagic("NVR\0", 4);
constexpr size_t kReportWindowBytes = 1 << 20;
constexpr size_t kMostReportHeadBytes = 64 << 10;
constexpr uint64_t kKnownVersion = 7;
constexpr size_t kMostSessionDevices = 1024;
constexpr size_t kMostSessionTexts = 256;
constexpr size_t kMostSessionTextBytes = 4096;
constexpr int64_t kNsPerSecondOfSession = 1'000'000'000;

// The bytes of a report, one piece after the other.
class ReportBytes {
 public:
  explicit ReportBytes(TextSource& text) : text_(text) {}

  // The next `size` bytes, fewer where the report ends. Valid until the next call.
  Result<std::string_view> Take(size_t size) {
    if (buffer_.size() - at_ < size && !at_end_) {
      buffer_.erase(0, at_);
      begin_ += static_cast<int64_t>(at_);
      at_ = 0;
      // Its size may be a lie: no more than is there is asked for.
      while (buffer_.size() < size && !at_end_) {
        const size_t had = buffer_.size();
        buffer_.resize(had + kReportWindowBytes);
        const std::span<char> room(buffer_.data() + had, kReportWindowBytes);
        Result<size_t> got = text_.ReadAt(begin_ + static_cast<int64_t>(had), room);
        if (!got.ok()) return got.status();
        buffer_.resize(had + *got);
        at_end_ = *got < kReportWindowBytes;
        text_.Release(begin_ + static_cast<int64_t>(buffer_.size()));
      }
    }
    const std::string_view taken = std::string_view(buffer_).substr(at_, size);
    at_ += taken.size();
    return taken;
  }
  // Passes over as many; false: the report ends before.
  Result<bool> Skip(uint64_t size) {
    while (size > 0) {
      ASSIGN_OR_RETURN(const std::string_view skipped,
                       Take(static_cast<size_t>(std::min<uint64_t>(size, kReportWindowBytes))));
      if (skipped.empty()) return false;
      size -= skipped.size();
    }
    return true;
  }
  // Four bytes; nothing: the report ends before.
  Result<std::optional<uint32_t>> TakeSize() {
    ASSIGN_OR_RETURN(const std::string_view bytes, Take(4));
    if (bytes.size() < 4) return std::optional<uint32_t>();
    uint32_t size = 0;
    for (size_t i = 0; i < 4; ++i) size |= uint32_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
    return std::optional(size);
  }
  int64_t offset_bytes() const { return begin_ + static_cast<int64_t>(at_); }

 private:
  TextSource& text_;
  std::string buffer_;
  size_t at_ = 0;
  int64_t begin_ = 0;  // of the buffer, in the text
  bool at_end_ = false;
};

std::string SessionText(std::string_view text) {
  const std::optional<std::string> without = TextWithoutEnvironment(text);
  return (without ? *without : std::string(text)).substr(0, kMostSessionTextBytes);
}

// What the sessions of a report say: 2 Unix seconds, 4 the system that was measured {1 its name, 2 its version, 3
// processor, 4 architecture; its host's name and addresses are private}, 6 devices {1 number, 2 name, 3 attributes {1
// name, 2 value}}, 8 versions {1 of what, 2 which}, 11 ncu's command line. Many blocks repeat it.
class ReportSession {
 public:
  void Read(std::string_view message, ReportRows& rows, LaunchResults& results) {
    ProtoFields fields(message);
    while (fields.Next()) {
      switch (fields.number()) {
        case 2:
          if (!unix_s_ && fields.is_number() && fields.value() > 0) unix_s_ = fields.integer();
          break;
        case 4:
          if (system_.empty()) ReadSystem(fields.bytes());
          break;
        case 6:
          ReadDevice(fields.bytes(), rows, results);
          break;
        case 8: {
          const std::string name = SessionText(FindBytes(fields.bytes(), 1));
          if (!name.empty() && versions_.size() < kMostSessionTexts) {
            versions_.try_emplace(name, SessionText(FindBytes(fields.bytes(), 2)));
          }
          break;
        }
        case 11:
          if (command_.empty()) command_ = SessionText(fields.bytes());
          break;
        default:
          break;
      }
    }
  }

  Status SetFacts(BatchSink& sink) const {
    if (!command_.empty()) RETURN_IF_ERROR(sink.SetFact("source.command_line", JsonOf(command_)));
    if (!versions_.empty()) RETURN_IF_ERROR(sink.SetFact("source.versions", JsonOf(versions_)));
    if (!system_.empty()) RETURN_IF_ERROR(sink.SetFact("source.system", JsonOf(system_)));
    if (!unix_s_ || *unix_s_ >= kLatestStartUnixNs / kNsPerSecondOfSession) return OkStatus();
    RETURN_IF_ERROR(sink.SetFact("base_unix_ns", *unix_s_ * kNsPerSecondOfSession));
    return sink.SetFact("clock", "unix");
  }

 private:
  static std::string JsonOf(std::string_view text) {
    std::string json;
    AppendJsonString(json, text);
    return json;
  }
  static std::string JsonOf(const std::map<std::string, std::string>& texts) {
    std::string json;
    for (const auto& [name, text] : texts) json += (json.empty() ? "{" : ",") + JsonOf(name) + ":" + JsonOf(text);
    return json + "}";
  }

  void ReadSystem(std::string_view message) {
    constexpr const char* kNames[] = {"os", "os_version", "processor", "architecture"};
    for (uint32_t i = 0; i < std::size(kNames); ++i) {
      const std::string_view text = FindBytes(message, i + 1);
      if (!text.empty()) system_[kNames[i]] = SessionText(text);
    }
  }

  void ReadDevice(std::string_view message, ReportRows& rows, LaunchResults& results) {
    int64_t ordinal = 0;
    std::string_view name;
    ProtoFields find(message);
    while (find.Next()) {
      if (find.number() == 1 && find.is_number()) ordinal = find.integer();
      if (find.number() == 2) name = find.bytes();
    }
    if (devices_.size() >= kMostSessionDevices || !devices_.try_emplace(ordinal, name).second) return;
    results.AddDevice(ordinal, std::string(name));
    if (!name.empty()) rows.AddDeviceAttribute(ordinal, "name", {.number = std::nullopt, .text = name});
    ProtoFields fields(message);
    while (fields.Next()) {
      if (fields.number() != 3 || fields.is_number()) continue;
      const std::string_view attribute = FindBytes(fields.bytes(), 1);
      if (attribute.empty()) continue;
      rows.AddDeviceAttribute(ordinal, attribute, ReadReportValue(FindBytes(fields.bytes(), 2)));
    }
  }

  std::optional<int64_t> unix_s_;
  std::map<std::string, std::string> system_;
  std::map<std::string, std::string> versions_;
  std::string command_;
  std::map<int64_t, std::string> devices_;
};

struct BlockHead {
  uint64_t sources = 0;
  uint64_t results = 0;
  uint64_t ranges = 0;
  uint64_t payload_bytes = 0;
};

class NcuReportReading {
 public:
  NcuReportReading(TextSource& text, BatchSink& sink, const NcuReportLimits& limits)
      : text_(text),
        limits_(limits),
        bytes_(text),
        rows_(sink),
        sources_(limits.source_bytes),
        results_(rows_, sources_) {}

  Status Read() {
    ASSIGN_OR_RETURN(const bool has_head, ReadFileHead());
    while (has_head) {
      ASSIGN_OR_RETURN(const bool goes_on, ReadBlock());
      if (!goes_on) break;
      RETURN_IF_ERROR(rows_.GiveFull());
      RETURN_IF_ERROR(TellProgress());
    }
    return Finish();
  }

 private:
  Result<bool> ReadFileHead() {
    ASSIGN_OR_RETURN(const std::string_view magic, bytes_.Take(kReportMagic.size()));
    if (magic != kReportMagic) {
      return Fail(ErrorCode::kBadInput, kReadAsNcuReport, "it does not begin with NVR",
                  "give a .ncu-rep as ncu wrote it");
    }
    ASSIGN_OR_RETURN(const std::optional<uint32_t> size, bytes_.TakeSize());
    if (!size || *size > kMostReportHeadBytes) {
      StopAt("its head is none");
      return false;
    }
    ASSIGN_OR_RETURN(const std::string_view head, bytes_.Take(*size));
    ProtoFields fields(head);
    while (fields.Next()) {
      if (fields.number() == 1 && fields.is_number()) version_ = fields.value();
    }
    return true;
  }

  // False: the report ends, or nobody knows where it goes on.
  Result<bool> ReadBlock() {
    const int64_t begin = bytes_.offset_bytes();
    ASSIGN_OR_RETURN(const std::string_view size_bytes, bytes_.Take(4));
    if (size_bytes.empty()) return false;
    uint32_t size = 0;
    for (size_t i = 0; i < size_bytes.size(); ++i)
      size |= uint32_t{static_cast<unsigned char>(size_bytes[i])} << (8 * i);
    if (size_bytes.size() < 4) return StopWithin(begin);
    if (size > limits_.entry_bytes) {
      StopAt("the block at byte " + std::to_string(begin) + " has a head of " + std::to_string(size) + " bytes");
      return false;
    }
    ASSIGN_OR_RETURN(const std::string_view message, bytes_.Take(size));
    if (message.size() < size) return StopWithin(begin);
    BlockHead head;
    if (!ReadHead(message, head)) {
      return Fail(ErrorCode::kBadInput, kReadAsNcuReport,
                  "the names of its metrics have more than " + std::to_string(limits_.names_bytes >> 20) + " MiB");
    }
    const int64_t payload_end = bytes_.offset_bytes() + static_cast<int64_t>(head.payload_bytes);
    ASSIGN_OR_RETURN(const bool is_whole, ReadPayload(head, payload_end));
    if (!is_whole) return StopWithin(begin);
    return true;
  }

  // False: there are more names than are kept.
  bool ReadHead(std::string_view message, BlockHead& head) {
    bool has_room = true;
    ProtoFields fields(message);
    while (fields.Next()) {
      switch (fields.number()) {
        case 1:
          head.sources = fields.value();
          break;
        case 2:
          head.results = fields.value();
          break;
        case 3:
          session_.Read(fields.bytes(), rows_, results_);
          break;
        case 4:
          has_room = has_room && results_.AddNames(fields.bytes(), limits_.names_bytes);
          break;
        case 5:
          head.payload_bytes = std::min<uint64_t>(fields.value(), uint64_t{1} << 40);
          break;
        case 6:
          results_.AddProcess(fields.bytes());
          break;
        case 7:
          head.ranges = fields.value();
          break;
        default:
          break;
      }
    }
    return has_room;
  }

  // False: the report ends within it.
  Result<bool> ReadPayload(const BlockHead& head, int64_t end) {
    const std::pair<uint64_t, Entry> kinds[] = {
        {head.sources, Entry::kSource}, {head.results, Entry::kResult}, {head.ranges, Entry::kRange}};
    for (const auto& [count, kind] : kinds) {
      for (uint64_t i = 0; i < count; ++i) {
        if (end - bytes_.offset_bytes() < 4) {
          ++short_blocks_;
          return SkipTo(end);
        }
        ASSIGN_OR_RETURN(const std::optional<uint32_t> size, bytes_.TakeSize());
        if (!size) return false;
        if (*size > static_cast<uint64_t>(end - bytes_.offset_bytes())) {
          ++short_blocks_;
          return SkipTo(end);
        }
        if (*size > limits_.entry_bytes) {
          ++too_large_;
          ASSIGN_OR_RETURN(const bool is_there, bytes_.Skip(*size));
          if (!is_there) return false;
          continue;
        }
        ASSIGN_OR_RETURN(const std::string_view message, bytes_.Take(*size));
        if (message.size() < *size) return false;
        RETURN_IF_ERROR(ReadEntry(kind, message));
      }
    }
    if (bytes_.offset_bytes() != end) ++longer_blocks_;
    return SkipTo(end);
  }

  enum class Entry { kSource, kResult, kRange };
  Status ReadEntry(Entry kind, std::string_view message) {
    if (kind != Entry::kSource) return results_.Read(message, kind == Entry::kRange);
    sources_.Add(message);
    return OkStatus();
  }

  Result<bool> SkipTo(int64_t end) { return bytes_.Skip(static_cast<uint64_t>(end - bytes_.offset_bytes())); }

  Result<bool> StopWithin(int64_t begin) {
    StopAt("it ends within the block at byte " + std::to_string(begin));
    return false;
  }
  void StopAt(std::string why) { why_stopped_ = std::move(why) + "; what follows is missing"; }

  Status TellProgress() { return rows_.sink().Progress(text_.SourceBytesAt(bytes_.offset_bytes()), rows_.rows()); }

  Status Finish() {
    BatchSink& sink = rows_.sink();
    const std::optional<Status> cut = text_.WhyCut();
    if (rows_.launches() == 0) {
      if (cut) return cut->In(kReadAsNcuReport);
      return Fail(ErrorCode::kBadInput, kReadAsNcuReport,
                  why_stopped_.empty() ? "it has no result: nothing was profiled" : why_stopped_,
                  "see that ncu found a kernel (==WARNING== No kernels were profiled), and ended by itself");
    }
    RETURN_IF_ERROR(sources_.AddWaiting(rows_));
    RETURN_IF_ERROR(sources_.AddTexts(rows_));
    RETURN_IF_ERROR(session_.SetFacts(sink));
    if (version_)
      RETURN_IF_ERROR(
          sink.SetFact("source.container_version", static_cast<int64_t>(std::min<uint64_t>(*version_, INT64_MAX))));
    Warn(cut);
    RETURN_IF_ERROR(rows_.Give());
    return TellProgress();
  }

  void Warn(const std::optional<Status>& cut) {
    BatchSink& sink = rows_.sink();
    if (version_ != kKnownVersion) {
      sink.Warn(std::string(kToolVersionUnknown) + "its container has " +
                (version_ ? "version " + std::to_string(*version_) : std::string("no version")) + ", and version " +
                std::to_string(kKnownVersion) + " is known: it was read as far as it is alike");
    }
    if (cut) sink.Warn("it cannot be read to its end: " + cut->why() + "; what is whole before was kept");
    if (!why_stopped_.empty()) sink.Warn(why_stopped_);
    const auto warn = [&](int64_t count, const std::string& what) {
      if (count > 0) sink.Warn(std::to_string(count) + what);
    };
    warn(short_blocks_, " blocks hold fewer entries than they say");
    warn(longer_blocks_, " blocks hold more than the entries that they say: that is not read");
    warn(too_large_,
         " entries have more than " + std::to_string(limits_.entry_bytes >> 20) + " MiB: they were left out");
    results_.WarnOf(sink);
    sources_.WarnOf(sink);
    rows_.WarnOfValues();
  }

  TextSource& text_;
  const NcuReportLimits limits_;
  ReportBytes bytes_;
  ReportRows rows_;
  KernelSources sources_;
  LaunchResults results_;
  ReportSession session_;
  std::optional<uint64_t> version_;
  std::string why_stopped_;
  int64_t short_blocks_ = 0;
  int64_t longer_blocks_ = 0;
  int64_t too_large_ = 0;
};

}  // namespace

Status ReadNcuReport(TextSource& text, BatchSink& sink, const NcuReportLimits& limits) {
  return NcuReportReading(text, sink, limits).Read();
}

bool LooksLikeNcuReport(std::span<const char> first) {
  return std::string_view(first.data(), first.size()).starts_with(kReportMagic);
}

}  // namespace kprof

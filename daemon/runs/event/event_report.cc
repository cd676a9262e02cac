#include "daemon/runs/event/event_report.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <utility>

#include "daemon/launch/given/json_text.h"
#include "storage/base/readable_text.h"
#include "storage/base/status.h"

namespace kprof {
namespace {

constexpr size_t kMostEventLineBytes = 4'096;
constexpr size_t kMostMessageBytes = 500;
constexpr size_t kMostCodeBytes = 64;

Status NoEvent(std::string why) {
  return Fail(ErrorCode::kBadInput, "read a sample", std::move(why));
}

bool IsCode(std::string_view text) {
  return !text.empty() && text.size() <= kMostCodeBytes &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789") == text.npos;
}

class EventLines {
 public:
  explicit EventLines(EventReport& report) : report_(report) {}

  Status Read(std::string_view line) {
    if (line.size() > kMostEventLineBytes) return NoEvent("it has more than 4096 bytes");
    const Result<GivenJson> json = ReadJson(line, "a line");
    if (!json.ok()) return NoEvent(json.status().why());
    if (json->kind != GivenJson::Kind::kObject) return NoEvent("it is no JSON object");
    if (json->Find("check") != nullptr) return ReadCheck(*json);
    if (json->Find("note") != nullptr) return ReadNote(*json);
    return ReadSample(*json);
  }

 private:
  static Status TakeText(const GivenJson& object, std::string_view name, size_t most_bytes, std::string& to) {
    const GivenJson* value = object.Find(name);
    if (value == nullptr) return OkStatus();
    if (value->kind != GivenJson::Kind::kText) return NoEvent("its \"" + std::string(name) + "\" is no text");
    to = ClippedText(value->text, most_bytes);
    return OkStatus();
  }

  static Result<std::optional<double>> TakeNumber(const GivenJson& object, std::string_view name) {
    const GivenJson* value = object.Find(name);
    if (value == nullptr || value->kind == GivenJson::Kind::kNull) return std::optional<double>();
    double number = 0;
    const std::string& text = value->text;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (value->kind != GivenJson::Kind::kNumber || error != std::errc() || !std::isfinite(number)) {
      return NoEvent("its \"" + std::string(name) + "\" is no number");
    }
    return std::optional<double>(number);
  }

  Status ReadCheck(const GivenJson& line) {
    std::string how;
    std::string message;
    std::string name;
    RETURN_IF_ERROR(TakeText(line, "check", kMostCodeBytes, how));
    RETURN_IF_ERROR(TakeText(line, "message", kMostMessageBytes, message));
    RETURN_IF_ERROR(TakeText(line, "case", kMostCaseBytes, name));
    if (how != "passed" && how != "failed") return NoEvent("its \"check\" is neither passed nor failed");
    if (how == "failed" && !report_.check_failed) {
      report_.check_failed = (name.empty() ? "" : "case " + name + ": ") + message;
    }
    return OkStatus();
  }

  Status ReadNote(const GivenJson& line) {
    TrustReason note;
    RETURN_IF_ERROR(TakeText(line, "note", kMostCodeBytes, note.code));
    RETURN_IF_ERROR(TakeText(line, "message", kMostMessageBytes, note.message));
    if (!IsCode(note.code)) return NoEvent("its \"note\" is no code of small letters, digits and _");
    if (report_.notes.size() < kMostEventNotes) report_.notes.push_back(std::move(note));
    return OkStatus();
  }

  Status ReadSample(const GivenJson& line) {
    EventSample sample;
    RETURN_IF_ERROR(TakeText(line, "case", kMostCaseBytes, sample.case_name));
    RETURN_IF_ERROR(TakeText(line, "cache", kMostCodeBytes, sample.cache));
    if (!sample.cache.empty() && sample.cache != "cold" && sample.cache != "hot") {
      return NoEvent("its \"cache\" is neither cold nor hot");
    }
    ASSIGN_OR_RETURN(const std::optional<double> ns, TakeNumber(line, "ns"));
    if (!ns) return NoEvent("it has no \"ns\"");
    sample.ns = *ns;
    ASSIGN_OR_RETURN(sample.cycles, TakeNumber(line, "cycles"));
    ASSIGN_OR_RETURN(sample.flops, TakeNumber(line, "flops"));
    ASSIGN_OR_RETURN(sample.bytes, TakeNumber(line, "bytes"));
    ASSIGN_OR_RETURN(sample.wall_ns, TakeNumber(line, "wall_ns"));
    if (cases_.insert(sample.case_name).second && cases_.size() > kMostCases) {
      return NoEvent("its case is the 1001st: a process may report 1000");
    }
    report_.samples.push_back(std::move(sample));
    return OkStatus();
  }

  EventReport& report_;
  std::set<std::string> cases_;
};

}  // namespace

EventReport ReadEventReport(std::string_view text, int64_t dropped_bytes) {
  EventReport report;
  report.dropped_bytes = dropped_bytes;
  if (dropped_bytes > 0) {  // its last line is cut off
    const size_t whole = text.rfind('\n') + 1;
    report.dropped_bytes += static_cast<int64_t>(text.size() - whole);
    text = text.substr(0, whole);
  }
  EventLines lines(report);
  for (int64_t number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    ++report.lines;
    const Status read = lines.Read(line);
    if (!read.ok() && ++report.bad_lines == 1) {
      report.first_bad = "line " + std::to_string(number) + ": " + ClippedText(read.why(), kMostMessageBytes);
    }
  }
  return report;
}

}  // namespace kprof

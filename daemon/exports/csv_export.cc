#include "daemon/exports/csv_export.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/exports/chrome_event.h"
#include "daemon/exports/json_bytes.h"
#include "daemon/exports/segment_rows.h"
#include "daemon/exports/track_places.h"

namespace kprof {
namespace {

constexpr std::string_view kHeader =
    "rank,track,process,kind,device,stream,ts_ns,dur_ns,name,category,depth,correlation,args,beside\r\n";

void AppendField(std::string& out, std::string_view text) {
  const bool has_edge = !text.empty() && (text.front() == ' ' || text.back() == ' ');
  if (!has_edge && text.find_first_of(",\"\r\n") == text.npos) {
    out += text;
    return;
  }
  out += '"';
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

void AppendNumber(std::string& out, int64_t value) {
  out += ',';
  if (value != kNoValue) AppendInteger(out, value);
}

// What a line begins with, for each track.
std::vector<std::string> FrontsOf(const ExportPart& part, std::optional<int64_t> rank_if_unknown) {
  const std::optional<int64_t> known = part.rank() ? part.rank() : rank_if_unknown;
  const std::string rank = known ? std::to_string(*known) : "";
  std::vector<std::string> fronts;
  for (const TrackRow& track : part.reader->tracks()) {
    std::string front = rank;
    for (const std::string& text : {track.name, track.process.value_or(""), track.kind}) {
      front += ',';
      AppendField(front, text);
    }
    AppendNumber(front, track.device.value_or(kNoValue));
    AppendNumber(front, track.stream.value_or(kNoValue));
    fronts.push_back(std::move(front));
  }
  return fronts;
}

Status WritePart(const ExportPart& of_rank, std::optional<int64_t> rank_if_unknown, ExportOutput& output) {
  const std::vector<std::string> fronts = FrontsOf(of_rank, rank_if_unknown);
  PartReader& part = *of_rank.reader;
  ChromeTexts texts(part);
  std::string json;
  for (const Segment& segment : part.segments(EventKind::kSlice)) {
    ASSIGN_OR_RETURN(SegmentRows rows, SegmentRows::Read(part, segment));
    for (size_t row = 0; row < rows.size(); ++row) {
      std::string& out = output.bytes();
      out += fronts[rows.track(row)];
      AppendNumber(out, rows.Of(EventColumn::kTime, row));
      AppendNumber(out, rows.Of(EventColumn::kDuration, row));
      for (const EventColumn column : {EventColumn::kName, EventColumn::kCategory}) {
        ASSIGN_OR_RETURN(const std::string_view text, texts.plain.Text(rows.Of(column, row)));
        out += ',';
        AppendField(out, text);
      }
      const int64_t correlation = rows.Of(EventColumn::kCorrelation, row);
      AppendNumber(out, rows.Of(EventColumn::kDepth, row));
      AppendNumber(out, correlation);
      const std::span<const SegmentRows::Arg> args = rows.Args(row);
      for (const bool of_event : {false, true}) {
        json.clear();
        RETURN_IF_ERROR(AppendArgsObject(json, args, of_event, texts));
        out += ',';
        AppendField(out, json);
      }
      out += "\r\n";
      RETURN_IF_ERROR(output.Step());
      texts.Trim();
    }
  }
  return OkStatus();
}

}  // namespace

Status ExportCsv(std::span<const ExportPart> parts, const ExportSink& sink, const ExportWatch& watch) {
  if (parts.empty()) return Fail(ErrorCode::kNotFound, "export it", "it has no trace");
  int64_t rows = 0;
  for (const auto& [part, rank] : parts) rows += part->rows(EventKind::kSlice);
  ExportOutput output(sink, watch, rows);
  output.bytes() += kHeader;
  for (size_t i = 0; i < parts.size(); ++i) {
    // Lines of several parts can be told apart, also where nobody knows which ranks they are.
    const std::optional<int64_t> number = parts.size() > 1 ? std::optional(static_cast<int64_t>(i)) : std::nullopt;
    RETURN_IF_ERROR(WritePart(parts[i], number, output));
  }
  return output.Flush();
}

}  // namespace kprof

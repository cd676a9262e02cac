#include "daemon/ingest/scalene/scalene_reader.h"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/ingest/assemble/batch_builder.h"
#include "daemon/ingest/text/json_scan.h"
#include "daemon/ingest/text/json_text.h"

namespace kprof {
namespace {

constexpr size_t kScaleneReadBytes = 1 << 20;  // at once
constexpr int kMostScaleneNesting = 64;
constexpr const char* kReadAsScalene = "read it as a Scalene profile";
constexpr double kMostProfileSeconds = 4.1e9;  // Unix; 2100

// The profile's names for the columns of SourceLineTable. The first two columns are the file and the line.
struct LineMember {
  std::string_view key;
  const char* column;
  const char* unit;
};
constexpr LineMember kLineMembers[] = {
    {"n_cpu_percent_python", "python_percent", "percent"},
    {"n_cpu_percent_c", "native_percent", "percent"},
    {"n_sys_percent", "system_percent", "percent"},
    {"n_gpu_percent", "gpu_percent", "percent"},
    {"n_avg_mb", "average_mb", "MB"},
    {"n_peak_mb", "peak_mb", "MB"},
    {"n_malloc_mb", "allocated_mb", "MB"},
    {"n_growth_mb", "growth_mb", "MB"},
    {"n_copy_mb_s", "copied_mb_per_s", "MB/s"},
    {"n_python_fraction", "python_memory_fraction", ""},
    {"n_gpu_peak_memory_mb", "gpu_peak_mb", "MB"},
};
constexpr size_t kPlaceColumns = 2;

// Those that say how a profile was made; others are lists, texts with names, or said line by line.
constexpr std::string_view kKeptMembers[] = {"elapsed_time_sec",
                                             "start_time_absolute",
                                             "start_time_perf",
                                             "alloc_samples",
                                             "growth_rate",
                                             "max_footprint_mb",
                                             "native_allocations_mb",
                                             "max_footprint_python_fraction",
                                             "gpu",
                                             "memory",
                                             "async_profile"};

Status BrokenProfile(std::string why) {
  return Fail(ErrorCode::kBadInput, kReadAsScalene, std::move(why), "have Scalene write it again");
}

std::optional<double> NumberOf(std::string_view value) {
  double number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  const bool is_number = error == std::errc() && end == value.data() + value.size() && std::isfinite(number);
  return is_number ? std::optional(number) : std::nullopt;
}

int64_t RealBits(std::string_view value) {
  const std::optional<double> number = NumberOf(value);
  return number ? std::bit_cast<int64_t>(*number) : kNoReal;
}

int64_t LineNumberOf(std::string_view value) {
  int64_t line = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), line);
  return error == std::errc() && end == value.data() + value.size() && line >= 0 ? line : kNoValue;
}

// The whole text, with zeros behind it.
Result<std::string> ReadProfile(TextSource& text, int64_t most_bytes) {
  std::string all;
  std::string piece(kScaleneReadBytes, '\0');
  while (true) {
    ASSIGN_OR_RETURN(const size_t size, text.ReadAt(static_cast<int64_t>(all.size()), piece));
    all.append(piece, 0, size);
    if (static_cast<int64_t>(all.size()) > most_bytes) {
      return BrokenProfile("it has more than " + std::to_string(most_bytes >> 20) + " MiB");
    }
    if (size < piece.size()) break;
    text.Release(static_cast<int64_t>(all.size()));
  }
  if (const std::optional<Status> cut = text.WhyCut()) return cut->In(kReadAsScalene);
  all.resize(all.size() + kScanSlackBytes, '\0');
  return all;
}

// Scalene's web page has the profile in it, as the value of a constant.
bool IsWebPage(const char* begin) {
  const std::string_view first(begin, kScanSlackBytes / 4);
  return first.starts_with("<!DOCTYPE html") || first.starts_with("<!doctype html") || first.starts_with("<html");
}

const char* BeginOfProfile(const char* begin, const char* end) {
  begin = SkipSpace(begin);
  if (!IsWebPage(begin)) return begin;
  constexpr std::string_view kBefore = "const profile = ";
  const std::string_view page(begin, static_cast<size_t>(end - begin));
  const size_t at = page.find(kBefore);
  return at == page.npos ? end : SkipSpace(begin + at + kBefore.size());
}

class ScaleneReading {
 public:
  ScaleneReading(BatchSink& sink, const char* end) : builder_(sink), end_(end) {}

  Status Read(const char* at) {
    Status status;
    bool has_files = false;
    const bool is_whole = ForEachMember(
        at, end_,
        [&](std::string_view key, std::string_view value) {
          if (key == "files" && value.starts_with('{')) {
            has_files = true;
            status = ReadFiles(value);
          } else {
            // Command lines have passwords and tokens: they stay where they were typed.
            if (key != "args") Keep(kNoValue, key, value);
            status = See(key, value);
          }
          return status.ok();
        },
        kMostScaleneNesting);
    RETURN_IF_ERROR(status);
    if (!is_whole) return BrokenProfile("it is cut off, or no JSON");
    if (!has_files) {
      return Fail(ErrorCode::kNotFound, kReadAsScalene, "it has no object \"files\"",
                  "give the profile as Scalene wrote it");
    }
    if (odd_ > 0) builder_.sink().Warn(std::to_string(odd_) + " lines have no number: they were left out");
    return builder_.Give();
  }
  int64_t rows() const { return rows_; }

 private:
  // `file`: a string's number, or kNoValue.
  void Keep(int64_t file, std::string_view key, std::string_view value) {
    builder_.AddSideRow(ScaleneProfileTable(), std::array<int64_t, 3>{file, builder_.Text(UnescapeJson(key)),
                                                                      builder_.Text(CompactJson(value))});
    ++rows_;
  }

  Status See(std::string_view key, std::string_view value) {
    builder_.sink().SeeJob(key, value);
    for (const std::string_view kept : kKeptMembers) {
      const bool is_plain = NumberOf(value) || value == "true" || value == "false";
      if (key == kept && is_plain) RETURN_IF_ERROR(builder_.sink().SetFact("source." + std::string(key), value));
    }
    if (key != "start_time_absolute") return OkStatus();
    const std::optional<double> start_s = NumberOf(value);
    if (!start_s || *start_s < 0 || *start_s > kMostProfileSeconds) return OkStatus();
    return builder_.sink().SetFact("base_unix_ns", static_cast<int64_t>(*start_s * 1e9));
  }

  Status ReadFiles(std::string_view files) {
    Status status;
    ForEachMember(files.data(), EndOf(files), [&](std::string_view name, std::string_view file) {
      if (!file.starts_with('{')) return true;
      const uint32_t number = builder_.Text(UnescapeJson(name));
      ForEachMember(file.data(), EndOf(file), [&](std::string_view key, std::string_view value) {
        if (key == "lines") {
          Keep(number, key, "[]");
          status = ReadLines(number, value);
        } else {
          Keep(number, key, value);
        }
        return status.ok();
      });
      return status.ok();
    });
    return status;
  }

  Status ReadLines(uint32_t file, std::string_view lines) {
    return ForEach(lines, [&](std::string_view line) {
      Keep(file, kScaleneLineKey, line);
      if (line.starts_with('{')) ReadLine(file, line);
      return builder_.GiveFull();
    });
  }

  void ReadLine(uint32_t file, std::string_view line) {
    std::array<int64_t, kPlaceColumns + std::size(kLineMembers)> row;
    row.fill(kNoReal);
    row[0] = file;
    row[1] = kNoValue;
    std::string_view samples;
    ForEachMember(line.data(), EndOf(line), [&](std::string_view key, std::string_view value) {
      if (key == "lineno") row[1] = LineNumberOf(value);
      if (key == "cpu_samples_list") samples = value;
      for (size_t i = 0; i < std::size(kLineMembers); ++i) {
        if (key == kLineMembers[i].key) row[kPlaceColumns + i] = RealBits(value);
      }
      return true;
    });
    if (row[1] == kNoValue) {
      ++odd_;
      return;
    }
    builder_.AddSideRow(SourceLineTable(), row);
    ++rows_;
    (void)ForEach(samples, [&](std::string_view sample) {
      const int64_t bits = RealBits(sample);
      if (bits == kNoReal) return OkStatus();
      builder_.AddSideRow(SourceLineSampleTable(), std::array<int64_t, 3>{file, row[1], bits});
      ++rows_;
      return OkStatus();
    });
  }

  // The values of a list.
  template <typename See>
  static Status ForEach(std::string_view list, const See& see) {
    if (!list.starts_with('[')) return OkStatus();
    const char* const end = EndOf(list);
    const char* at = SkipSpace(list.data() + 1);
    while (at < end && *at != ']') {
      const char* value_end = FindValueEnd(at, end);
      if (value_end == nullptr) return OkStatus();
      RETURN_IF_ERROR(see(std::string_view(at, static_cast<size_t>(value_end - at))));
      at = SkipSpace(value_end);
      if (at >= end || *at != ',') return OkStatus();
      at = SkipSpace(at + 1);
    }
    return OkStatus();
  }
  // A value within the text; more of the text stands behind it.
  static const char* EndOf(std::string_view value) { return value.data() + value.size(); }

  BatchBuilder builder_;
  const char* const end_;  // of the whole text, behind which zeros stand
  int64_t rows_ = 0;
  int64_t odd_ = 0;
};

}  // namespace

const SideTable& SourceLineTable() {
  static const SideTable kTable = [] {
    SideTable table{.name = "source_line",
                    .columns = {{.name = "file", .type = SideType::kText, .unit = ""},
                                {.name = "line", .type = SideType::kInteger, .unit = ""}}};
    for (const LineMember& member : kLineMembers)
      table.columns.push_back({member.column, SideType::kReal, member.unit});
    return table;
  }();
  return kTable;
}

const SideTable& SourceLineSampleTable() {
  static const SideTable kTable{.name = "source_line_sample",
                                .columns = {{.name = "file", .type = SideType::kText, .unit = ""},
                                            {.name = "line", .type = SideType::kInteger, .unit = ""},
                                            {.name = "perf_counter_s", .type = SideType::kReal, .unit = "s"}}};
  return kTable;
}

const SideTable& ScaleneProfileTable() {
  static const SideTable kTable{.name = "scalene_profile",
                                .columns = {{.name = "file", .type = SideType::kText, .unit = ""},
                                            {.name = "key", .type = SideType::kText, .unit = ""},
                                            {.name = "json", .type = SideType::kText, .unit = ""}}};
  return kTable;
}

Status ReadScalene(TextSource& text, BatchSink& sink, int64_t most_bytes) {
  ASSIGN_OR_RETURN(const std::string profile, ReadProfile(text, most_bytes));
  const char* const end = profile.data() + profile.size() - kScanSlackBytes;
  ScaleneReading reading(sink, end);
  RETURN_IF_ERROR(reading.Read(BeginOfProfile(profile.data(), end)));
  return sink.Progress(text.SourceBytesAt(end - profile.data()), reading.rows());
}

bool LooksLikeScalene(std::span<const char> first) {
  std::string text(first.data(), first.size());
  text.resize(text.size() + kScanSlackBytes, '\0');
  const char* const end = text.data() + first.size();
  const char* const begin = SkipSpace(text.data());
  if (begin < end && IsWebPage(begin)) return text.find("calene") != text.npos;
  if (begin >= end || *begin != '{') return false;
  bool is_it = false;
  bool has_elapsed = false;
  const auto see = [&](std::string_view key) {
    has_elapsed = has_elapsed || key == "elapsed_time_sec";
    // Scalene writes its members in the order of their names; what merges profiles of devices into one does not.
    is_it = is_it || key == "alloc_samples" || (has_elapsed && key == "files");
    return !is_it && key != "traceEvents";
  };
  // The first bytes end somewhere in the text: the last key that they have may be that of a value that goes on.
  std::string_view last;
  ForEachMember(begin, end, [&](std::string_view key, std::string_view value) {
    last = value;
    return see(key);
  });
  if (is_it || text.find("\"traceEvents\"") != text.npos) return is_it;
  const char* at = SkipSpace(last.empty() ? begin + 1 : last.data() + last.size());
  if (at < end && *at == ',') at = SkipSpace(at + 1);
  if (at >= end || *at != '"') return false;
  const char* const key_end = FindStringEnd(at + 1, end);
  if (key_end != nullptr) see({at + 1, static_cast<size_t>(key_end - at - 1)});
  return is_it;
}

}  // namespace kprof

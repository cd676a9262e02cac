#include "daemon/ingest/neuron/neuron_json_reader.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/ingest/neuron/json_stream.h"
#include "daemon/ingest/neuron/profile_tables.h"
#include "daemon/ingest/text/json_scan.h"
#include "daemon/ingest/text/json_text.h"

namespace kprof {
namespace {

constexpr size_t kMostLogBytes = 1 << 20;  // before the object
constexpr const char* kReadAsNeuronJson = "read it as a device profile of Neuron";
constexpr int64_t kRowsPerLook = 16'384;
constexpr double kPicosecondsAbove = 100;  // of last_hw_timestamp to total_time in ns: near 1, or near 1,000
constexpr double kPicosecondsBelow = 10'000;

bool IsHash(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.';
  });
}

// The keys n_<hash>, of a device profile, and s_<hash>, of a runtime's trace.
bool IsSummaryKey(std::string_view key) {
  return (key.starts_with("n_") || key.starts_with("s_")) && IsHash(key.substr(2));
}

// A counter that a summary of a device profile has, and no other JSON.
bool IsSummaryCounter(std::string_view key) {
  constexpr std::string_view kOfEngine[] = {"_engine_active_time", "_engine_active_time_percent",
                                            "_engine_instruction_count", "_engine_instruction_time"};
  constexpr std::string_view kOfAll[] = {"total_active_time",      "total_active_time_percent", "dma_active_time",
                                         "neuroncore_cycle_count", "dma_active_time_percent",   "dma_transfer_count",
                                         "hardware_flops",         "mfu_estimated_percent",     "hbm_read_bytes"};
  return std::any_of(std::begin(kOfEngine), std::end(kOfEngine), [&](auto of) { return key.ends_with(of); }) ||
         std::find(std::begin(kOfAll), std::end(kOfAll), key) != std::end(kOfAll);
}

// Steps through the object that begins with `at` on '{', as far as its members are whole. `see`: a key as written and a
// value.
template <typename See>
void ForMembers(std::string_view object, const See& see);

// Where an object of counters alone begins, as somebody took it out of a summary: the text's first. The text may be
// cut.
size_t FindFlatSummary(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == text.npos || text[begin] != '{') return text.npos;
  constexpr int kEnough = 3;
  int found = 0;
  std::string padded(text.substr(begin));
  const size_t size = padded.size();
  padded.resize(size + kScanSlackBytes, '\0');
  ForMembers(std::string_view(padded).substr(0, size), [&](std::string_view key, std::string_view value) {
    found += IsSummaryCounter(key) && value.front() != '{' && value.front() != '[' ? 1 : 0;
  });
  return found >= kEnough ? begin : text.npos;
}

// Where the profile's object begins: an object whose first key is one of the profile's, with the kind of value that it
// has there. The text may be cut.
size_t FindProfileBegin(std::string_view text) {
  for (size_t at = text.find('{'); at != text.npos; at = text.find('{', at + 1)) {
    size_t key = text.find_first_not_of(" \t\r\n", at + 1);
    if (key == text.npos || text[key] != '"') continue;
    const size_t key_end = text.find('"', ++key);
    if (key_end == text.npos) continue;
    size_t value = text.find_first_not_of(" \t\r\n", key_end + 1);
    if (value == text.npos || text[value] != ':') continue;
    value = text.find_first_not_of(" \t\r\n", value + 1);
    if (value == text.npos) continue;
    const std::string_view name = text.substr(key, key_end - key);
    if (text[value] == '[' && FindProfileTableOfJson(name) != nullptr) return at;
    // The summary of a runtime's trace alone has counts of events, and nothing of a device.
    const bool has_device = name.starts_with("n_") || text.find("\"n_", value) != text.npos;
    if (text[value] == '{' && IsSummaryKey(name) && has_device) return at;
  }
  return text.npos;
}

std::string_view WithoutQuotes(std::string_view value) {
  return value.size() >= 2 && value.front() == '"' ? value.substr(1, value.size() - 2) : value;
}

std::optional<double> RealIn(std::string_view value) {
  value = WithoutQuotes(value);
  double number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  return error == std::errc() && end == value.data() + value.size() && !value.empty() ? std::optional(number)
                                                                                      : std::nullopt;
}

std::optional<int64_t> IntegerIn(std::string_view value) {
  value = WithoutQuotes(value);
  int64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error == std::errc() && end == value.data() + value.size() && !value.empty()) return number;
  const std::optional<double> real = RealIn(value);
  if (!real || !(std::abs(*real) < 9.2e18)) return std::nullopt;
  return static_cast<int64_t>(std::floor(*real));
}

std::optional<int64_t> FlagIn(std::string_view value) {
  value = WithoutQuotes(value);
  if (value == "yes" || value == "true" || value == "1") return 1;
  if (value == "no" || value == "false" || value == "0") return 0;
  return std::nullopt;
}

template <typename See>
void ForMembers(std::string_view object, const See& see) {
  const char* const end = object.data() + object.size();
  const char* at = SkipSpace(object.data() + 1);
  while (at < end && *at == '"') {
    const char* const key = at + 1;
    const char* const key_end = FindStringEnd(key, end);
    if (key_end == nullptr) return;
    at = SkipSpace(key_end + 1);
    if (at >= end || *at != ':') return;
    at = SkipSpace(at + 1);
    const char* const value_end = FindValueEnd(at, end);
    if (value_end == nullptr || value_end > end) return;
    see(std::string_view(key, static_cast<size_t>(key_end - key)),
        std::string_view(at, static_cast<size_t>(value_end - at)));
    at = SkipSpace(value_end);
    if (at >= end || *at != ',') return;
    at = SkipSpace(at + 1);
  }
}

// The facts of a profile that have to be known before its rows.
struct ProfileScale {
  int64_t units_per_ns = 1;
  bool is_known = false;  // that of the times
  std::string kernel;
};

class ScaleSearch {
 public:
  void See(std::string_view key, std::string_view rows) {
    if (!rows.starts_with('[')) return;
    const char* const end = rows.data() + rows.size();
    const char* at = SkipSpace(rows.data() + 1);
    if (at >= end || *at != '{') return;
    const char* const row_end = FindValueEnd(at, end);
    if (row_end == nullptr) return;
    ForMembers({at, static_cast<size_t>(row_end - at)}, [&](std::string_view name, std::string_view value) {
      if (key == "summary") SeeCounter(name, RealIn(value));
      if (key == "metadata" && name == "pe_clock_others") clock_ghz_ = RealIn(value);
      if (key == "metadata" && name == "last_hw_timestamp") last_ = RealIn(value);
      if (key == "metadata" && name == "first_hw_timestamp") first_ = RealIn(value).value_or(0);
      if (key == "profile_info" && name == "neff_name") scale_.kernel = UnescapeJson(WithoutQuotes(value));
    });
    seen_ += key == "summary" || key == "metadata" || key == "profile_info" ? 1 : 0;
  }
  bool has_all() const { return seen_ >= 3; }
  ProfileScale Take() {
    const std::optional<double> total_s = TotalSeconds();
    if (total_s && last_ && *total_s > 0 && *last_ > first_) {
      const double ratio = (*last_ - first_) / (*total_s * 1e9);
      if (ratio > kPicosecondsAbove && ratio < kPicosecondsBelow) scale_.units_per_ns = 1000;
      scale_.is_known = true;
    }
    return std::move(scale_);
  }

 private:
  void SeeCounter(std::string_view name, std::optional<double> value) {
    if (!value || !(*value > 0)) return;
    if (name == "total_time") total_s_ = value;
    if (name == "neuroncore_cycle_count") cycles_ = value;
    if (name == "total_active_time") active_s_ = value;
    if (name == "total_active_time_percent") active_part_ = value;
  }

  // The summary's counters are in seconds, whatever the rows are in. Percentages are parts of 1 there.
  std::optional<double> TotalSeconds() const {
    if (total_s_) return total_s_;
    if (active_s_ && active_part_) return *active_s_ / *active_part_;
    if (cycles_ && clock_ghz_ && *clock_ghz_ > 0) return *cycles_ / (*clock_ghz_ * 1e9);
    return std::nullopt;
  }

  std::optional<double> total_s_;
  std::optional<double> active_s_;
  std::optional<double> active_part_;
  std::optional<double> cycles_;
  std::optional<double> clock_ghz_;
  std::optional<double> last_;
  double first_ = 0;
  int seen_ = 0;
  ProfileScale scale_;
};

struct ProfileBegin {
  size_t at = 0;
  bool is_flat = false;  // a summary without a name around it
};

Result<ProfileBegin> FindBeginIn(TextSource& text) {
  std::string head(kMostLogBytes, '\0');
  ASSIGN_OR_RETURN(const size_t size, text.ReadAt(0, head));
  head.resize(size);
  ProfileBegin begin{FindProfileBegin(head), false};
  if (begin.at == head.npos) begin = {FindFlatSummary(head), true};
  if (begin.at == head.npos) {
    return Fail(
        ErrorCode::kNotFound, kReadAsNeuronJson,
        "it has no object whose first key is one of a device profile, or n_<hash>, and is no summary's counters",
        "give what neuron-profile or neuron-explorer view --output-format json or summary-json wrote");
  }
  return begin;
}

// Looks for the tables that say the scale, and stops when it has them.
Result<ProfileScale> FindScale(TextSource& text, size_t begin, size_t most_bytes) {
  JsonStream stream(text, static_cast<int64_t>(begin), most_bytes);
  ScaleSearch search;
  ASSIGN_OR_RETURN(const char open, stream.Peek());
  if (open == '{') stream.Take();
  while (!search.has_all()) {
    ASSIGN_OR_RETURN(const char c, stream.Peek());
    if (c != '"') break;
    ASSIGN_OR_RETURN(const std::optional<std::string_view> quoted, stream.Value());
    if (!quoted) break;
    const std::string key(WithoutQuotes(*quoted));
    ASSIGN_OR_RETURN(const char colon, stream.Peek());
    if (colon != ':') break;
    stream.Take();
    ASSIGN_OR_RETURN(const char first, stream.Peek());
    if (first == '\0') break;
    if (key == "summary" || key == "metadata" || key == "profile_info") {
      ASSIGN_OR_RETURN(const std::optional<std::string_view> rows, stream.Value());
      if (rows) search.See(key, *rows);
    } else {
      ASSIGN_OR_RETURN(const bool is_whole, stream.Skip());
      if (!is_whole) break;
    }
    ASSIGN_OR_RETURN(const char comma, stream.Peek());
    if (comma != ',') break;
    stream.Take();
  }
  return search.Take();
}

class NeuronJsonReading {
 public:
  NeuronJsonReading(TextSource& text, BatchSink& sink, ProfileBegin begin, size_t most_bytes, ProfileScale scale,
                    const ProfileLimits& limits)
      : text_(text),
        stream_(text, static_cast<int64_t>(begin.at), most_bytes),
        rows_(sink, limits),
        is_flat_(begin.is_flat),
        is_scale_known_(scale.is_known),
        units_per_ns_(scale.units_per_ns) {
    rows_.NameKernel(scale.kernel);
  }

  Status Read() {
    RETURN_IF_ERROR(rows_.Begin());
    if (units_per_ns_ != 1) {
      RETURN_IF_ERROR(rows_.sink().SetFact("neuron_time_unit", "ps"));
    }
    ASSIGN_OR_RETURN(const bool is_whole, is_flat_ ? ReadRow(*FindProfileTable("Summary"), 0) : ReadObject());
    if (!is_whole || stream_.broken()) {
      const std::optional<Status> cut = text_.WhyCut();
      rows_.sink().Warn(cut ? cut->why()
                            : "it is cut off, or no JSON, at byte " + std::to_string(stream_.offset_bytes()));
    }
    if (stream_.too_large() > 0) {
      rows_.sink().Warn(std::to_string(stream_.too_large()) + " rows are larger than any may be: they were left out");
    }
    if (has_times_ && !is_scale_known_) {
      rows_.sink().Warn(
          std::string(kTimeUnitUnknown) +
          "neither a summary nor the metadata say how long the execution was: times are taken for ns, and "
          "older versions of the profiler write ps");
    }
    if (odd_ > 0) rows_.sink().Warn(std::to_string(odd_) + " rows are no objects: they were left out");
    RETURN_IF_ERROR(rows_.Finish());
    return TellProgress();
  }

 private:
  Status TellProgress() { return rows_.sink().Progress(text_.SourceBytesAt(stream_.offset_bytes()), rows_.rows()); }

  // False: the text ends before the object does.
  Result<bool> ReadObject() {
    ASSIGN_OR_RETURN(const char open, stream_.Peek());
    if (open != '{') return false;
    stream_.Take();
    while (true) {
      ASSIGN_OR_RETURN(const char c, stream_.Peek());
      if (c == '}') return true;
      if (c != '"') return false;
      ASSIGN_OR_RETURN(const std::optional<std::string_view> quoted, stream_.Value());
      if (!quoted) return false;
      const std::string key = UnescapeJson(WithoutQuotes(*quoted));
      ASSIGN_OR_RETURN(const char colon, stream_.Peek());
      if (colon != ':') return false;
      stream_.Take();
      ASSIGN_OR_RETURN(const bool is_whole, ReadMember(key));
      if (!is_whole) return false;
      ASSIGN_OR_RETURN(const char comma, stream_.Peek());
      if (comma == ',') stream_.Take();
    }
  }

  Result<bool> ReadMember(const std::string& key) {
    ASSIGN_OR_RETURN(const char first, stream_.Peek());
    if (first == '\0') return false;
    const ProfileTable* table = FindProfileTableOfJson(key);
    if (first == '{' && IsSummaryKey(key)) {
      rows_.StartSummary(key);
      table = FindProfileTable("Summary");
    }
    // Of a key that is not known, what fits is kept.
    const ProfileTable unknown{.role = TableRole::kFacts, .json = key};
    if (table == nullptr) table = &unknown;
    order_.clear();
    if (first != '[') {
      if (first != '{') return stream_.Skip();
      return ReadRow(*table, 0);
    }
    stream_.Take();
    for (int64_t row = 0;; ++row) {
      ASSIGN_OR_RETURN(const char c, stream_.Peek());
      if (c == ']') {
        stream_.Take();
        return true;
      }
      if (c == '\0') return false;
      if (c == '{') {
        ASSIGN_OR_RETURN(const bool is_whole, ReadRow(*table, row));
        if (!is_whole) return false;
      } else {
        ++odd_;
        ASSIGN_OR_RETURN(const bool is_whole, stream_.Skip());
        if (!is_whole) return false;
      }
      if (row % kRowsPerLook == kRowsPerLook - 1) RETURN_IF_ERROR(TellProgress());
      ASSIGN_OR_RETURN(const char comma, stream_.Peek());
      if (comma == ',') {
        stream_.Take();
      } else if (comma != ']') {
        return false;
      }
    }
  }

  Result<bool> ReadRow(const ProfileTable& table, int64_t row) {
    ASSIGN_OR_RETURN(const std::optional<std::string_view> object, stream_.Value());
    if (!object) return !stream_.broken();
    if (table.fields.empty()) {
      AddValues(table, row, *object, "");
      return true;
    }
    const std::span<int64_t> cells = rows_.Start(table);
    has_times_ |= table.role == TableRole::kInstruction || table.role == TableRole::kDma;
    size_t place = 0;
    ForMembers(*object, [&](std::string_view key, std::string_view value) {
      const ProfileField* const field = FieldOf(table, place++, key);
      if (field != nullptr) {
        Put(table, *field, key, value, cells);
      } else if (table.keeps_rest) {
        AddValues(table, row, key, value);
      }
    });
    RETURN_IF_ERROR(rows_.Add(table));
    return true;
  }

  // Rows of one list have their keys in about the same order.
  const ProfileField* FieldOf(const ProfileTable& table, size_t place, std::string_view key) {
    if (place < order_.size() && order_[place].first == key) return order_[place].second;
    const ProfileField* const field = FindProfileField(table, key);
    if (order_.size() <= place) order_.resize(place + 1);
    if (order_[place].first.empty()) order_[place] = {std::string(key), field};
    return field;
  }

  void Put(const ProfileTable& table, const ProfileField& field, std::string_view key, std::string_view value,
           std::span<int64_t> cells) {
    switch (field.kind) {
      case FieldKind::kInteger:
        if (const std::optional<int64_t> number = IntegerIn(value)) cells[field.column] = *number;
        break;
      case FieldKind::kReal:
        if (const std::optional<double> number = RealIn(value); number && std::isfinite(*number)) {
          cells[field.column] = std::bit_cast<int64_t>(*number);
        }
        break;
      case FieldKind::kFlag:
        if (const std::optional<int64_t> flag = FlagIn(value)) cells[field.column] = *flag;
        break;
      case FieldKind::kTime:
        if (const std::optional<int64_t> time = TimeIn(key, value)) cells[field.column] = *time;
        break;
      case FieldKind::kText:
        cells[field.column] = TextIn(table, field, value);
        break;
    }
  }

  std::optional<int64_t> TimeIn(std::string_view key, std::string_view value) const {
    const std::optional<int64_t> time = IntegerIn(value);
    if (!time || units_per_ns_ == 1 || key.ends_with("_ns")) return time;
    // Cut towards the past, as ns are.
    return *time >= 0 ? *time / units_per_ns_ : -((-(*time + 1)) / units_per_ns_) - 1;
  }

  int64_t TextIn(const ProfileTable& table, const ProfileField& field, std::string_view value) {
    if (value == "null" || value == "[]" || value == "{}") return kNoValue;
    if (value.front() == '[' || value.front() == '{') return rows_.Text(table, field, CompactJson(value));
    const std::string_view text = WithoutQuotes(value);
    if (text.find('\\') == text.npos) return rows_.Text(table, field, text);
    return rows_.Text(table, field, UnescapeJson(text));
  }

  // The members of an object as values, those of objects in it with their names behind a point; or one value.
  void AddValues(const ProfileTable& table, int64_t row, std::string_view name, std::string_view value) {
    if (value.empty()) {  // `name` is the row's object
      ForMembers(name, [&](std::string_view key, std::string_view of) {
        if (of.starts_with('{')) {
          ForMembers(of, [&](std::string_view inner, std::string_view number) {
            AddOne(table, row, std::string(key) + "." + std::string(inner), number);
          });
        } else {
          AddOne(table, row, UnescapeJson(key), of);
        }
      });
      return;
    }
    AddOne(table, row, UnescapeJson(name), value);
  }

  void AddOne(const ProfileTable& table, int64_t row, const std::string& name, std::string_view value) {
    if (value == "null") return;
    std::optional<double> number = RealIn(value);
    if (number && units_per_ns_ != 1 && table.role == TableRole::kMetadata && name.ends_with("_hw_timestamp")) {
      number = std::floor(*number / static_cast<double>(units_per_ns_));
    }
    const bool is_nested = value.front() == '[' || value.front() == '{';
    rows_.AddValue(table, row, name, number, is_nested ? CompactJson(value) : UnescapeJson(WithoutQuotes(value)));
  }

  TextSource& text_;
  JsonStream stream_;
  ProfileRows rows_;
  const bool is_flat_;
  const bool is_scale_known_;
  bool has_times_ = false;  // of instructions or DMA
  const int64_t units_per_ns_;
  std::vector<std::pair<std::string, const ProfileField*>> order_;  // of the keys of the last list's rows
  int64_t odd_ = 0;
};

}  // namespace

Status ReadNeuronJson(TextSource* first, TextSource& text, BatchSink& sink, int64_t most_row_bytes,
                      const ProfileLimits& limits) {
  if (first == nullptr) return OkStatus();
  const auto most_bytes = static_cast<size_t>(most_row_bytes);
  ASSIGN_OR_RETURN(const ProfileBegin begin, FindBeginIn(*first));
  ASSIGN_OR_RETURN(ProfileScale scale, FindScale(*first, begin.at, most_bytes));
  return NeuronJsonReading(text, sink, begin, most_bytes, std::move(scale), limits).Read();
}

bool LooksLikeNeuronJson(std::span<const char> first) {
  const std::string_view text(first.data(), first.size());
  return FindProfileBegin(text) != text.npos || FindFlatSummary(text) != text.npos;
}

}  // namespace kprof

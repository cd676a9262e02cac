#include "daemon/ingest/nsys/nsys_cursor.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "daemon/ingest/nsys/nsys_database.h"
#include "daemon/ingest/text/json_text.h"
#include "daemon/ingest/text/private_names.h"
#include "storage/trace/format/event_args.h"

namespace kprof {
namespace {

constexpr size_t kMostFrames = 1024;
constexpr size_t kMostCachedChains = 1 << 16;

}  // namespace

NsysCallchains::NsysCallchains(NsysDatabase& database, const std::string& table, NsysStrings& strings)
    : strings_(strings), lookup_(database, table, {"stackDepth", "symbol", "module"}) {}

std::vector<NsysCallchains::Frame> NsysCallchains::Frames(int64_t id) {
  std::vector<Frame> frames;
  const bool good = lookup_.Find(id, [&](const NsysQuery& row) {
    frames.push_back({row.Integer(0), row.Integer(1), row.Integer(2)});
    return frames.size() < kMostFrames;
  });
  if (!good) ++failed_;
  std::stable_sort(frames.begin(), frames.end());
  return frames;
}

std::optional<NsysCallchains::Chain> NsysCallchains::Find(int64_t id) {
  const std::vector<Frame> frames = Frames(id);
  if (frames.empty()) return std::nullopt;
  Chain chain{.innermost = frames.front().symbol};
  for (const Frame& frame : frames) chain.json += (chain.json.empty() ? '[' : ',') + FrameJson(frame);
  chain.json += ']';
  return chain;
}

const std::string& NsysCallchains::FrameJson(const Frame& frame) {
  if (frames_.size() >= kMostCachedChains) frames_.clear();
  std::string& json = frames_[{frame.symbol, frame.module}];
  if (!json.empty()) return json;
  std::string text = strings_.Text(frame.symbol).value_or(std::to_string(frame.symbol));
  const std::string module = strings_.Text(frame.module).value_or(std::to_string(frame.module));
  if (!module.empty()) text += " (" + module + ")";
  AppendJsonString(json, text);
  return json;
}

namespace {

constexpr int64_t kMostTimeNs = int64_t{1} << 61;  // so that two have a sum and a difference
constexpr int64_t kRowsPerProgress = 1 << 14;

EventArg RealArg(BatchBuilder& batch, uint32_t key, double value) {
  if (!std::isfinite(value)) return {key, ArgType::kString, batch.Text(value > 0 ? "Infinity" : "-Infinity")};
  const std::string text = ShortestNumber(value);
  const std::string padded = text + std::string(sizeof(uint64_t), '\0');
  if (const std::optional<JsonNumber> number = ParseJsonNumber(std::string_view(padded).substr(0, text.size()))) {
    const std::optional<int64_t> decimal = PackDecimal({number->digits, number->places});
    if (decimal) return {key, ArgType::kDecimal, *decimal};
  }
  return {key, ArgType::kNumber, batch.Text(text)};
}

template <typename Value>
std::optional<Value> ParseAll(std::string_view text) {
  const size_t begin = text.find_first_not_of(' ');
  if (begin == text.npos) return std::nullopt;
  Value value{};
  const char* text_end = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data() + begin, text_end, value);
  return error == std::errc() && end == text_end ? std::optional(value) : std::nullopt;
}

std::string HexOf(std::string_view bytes) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string text = "0x";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += {kHex[byte >> 4], kHex[byte & 15]};
  }
  return text;
}

}  // namespace

NsysCursor::NsysCursor(NsysSource& source, const NsysTable& table)
    : source_(source), table_(table), query_(source.database.Scan(table)) {
  for (const NsysColumn& each : table.columns) {
    Column column{.key = source.batch.Text(each.name), .is_correlation = each.name == "correlationId"};
    if (each.refers_to == kStringTable) {
      column.target = Target::kString;
    } else if (each.refers_to.starts_with(kEnumPrefix)) {
      column.target = Target::kLabel;
      column.labels = &source.enums.Of(each.refers_to);
    } else if (!each.refers_to.empty() && source.database.Find(each.refers_to) != nullptr) {
      column.target = Target::kCallchain;
      column.callchains = &source.CallchainsOf(each.refers_to);
    }
    // Nobody asks for such a column by its name; one that no table should have may hold anything.
    column.taken = HasEnvironmentWord(each.name) || IsPersonalName(each.name);
    columns_.push_back(column);
  }
}

int NsysCursor::Take(std::string_view column) {
  const int found = table_.Find(column);
  if (found >= 0) columns_[static_cast<size_t>(found)].taken = true;
  return found;
}

bool NsysCursor::Next() {
  if (!status_.ok() || rows_ >= source_.database.most_rows()) return false;
  status_ = source_.batch.GiveFull();
  if (status_.ok() && rows_ % kRowsPerProgress == kRowsPerProgress - 1) status_ = source_.TellProgress();
  if (!status_.ok() || !query_.Next()) return false;
  ++rows_;
  ++source_.rows_done;
  return true;
}

Status NsysCursor::Finish() {
  RETURN_IF_ERROR(status_);
  const std::string of_rows = table_.name + ": ";
  if (query_.result() != SQLITE_DONE) {
    const bool circles = query_.result() == SQLITE_ROW;
    source_.batch.sink().Warn(
        of_rows + "damaged after " + std::to_string(rows_) + " rows, what follows is missing: " +
        (circles ? "more rows than the file has room for" : source_.database.WhyOf(query_.result())));
  }
  if (untimed_ > 0) {
    source_.batch.sink().Warn(of_rows + std::to_string(untimed_) + " of " + std::to_string(rows_) +
                              " rows have no time, or none that can be, and are left out");
  }
  if (valueless_ > 0) {
    source_.batch.sink().Warn(of_rows + std::to_string(valueless_) + " of " + std::to_string(rows_) +
                              " rows have no value and are left out");
  }
  return OkStatus();
}

std::optional<double> NsysCursor::Number(int column) const {
  if (column < 0) return std::nullopt;
  const int type = query_.Type(column);
  if (type == SQLITE_TEXT) return ParseAll<double>(query_.Text(column));
  return type == SQLITE_INTEGER || type == SQLITE_FLOAT ? std::optional(query_.Real(column)) : std::nullopt;
}

std::optional<CounterSample> NsysCursor::Sample(int column) const {
  const std::optional<double> number = Number(column);
  if (!number) return std::nullopt;
  CounterSample sample{*number, std::nullopt, 0};
  const int type = query_.Type(column);
  if (type == SQLITE_TEXT || !std::isfinite(*number)) sample.written = ArgType::kString;
  if (type == SQLITE_INTEGER && !IsCounterText({query_.Integer(column), 0})) {
    sample.written = ArgType::kInteger;
    sample.column = query_.Integer(column);
  }
  return sample;
}

std::optional<int64_t> NsysCursor::Time(int column) const {
  if (column < 0) return std::nullopt;
  const int type = query_.Type(column);
  std::optional<int64_t> time_ns;
  if (type == SQLITE_INTEGER) {
    time_ns = query_.Integer(column);
  } else if (type == SQLITE_TEXT) {
    time_ns = ParseAll<int64_t>(query_.Text(column));
  }
  if (!time_ns) {
    const std::optional<double> number = Number(column);
    if (number && std::abs(*number) < static_cast<double>(kMostTimeNs)) time_ns = std::llround(*number);
  }
  return time_ns && *time_ns > -kMostTimeNs && *time_ns < kMostTimeNs ? time_ns : std::nullopt;
}

// What refers to something is a whole number, whatever it is stored as.
std::optional<int64_t> NsysCursor::Id(int column, int type) const {
  if (type == SQLITE_TEXT) {
    if (const std::optional<int64_t> id = ParseAll<int64_t>(query_.Text(column))) return id;
  }
  const std::optional<double> number = Number(column);
  const bool is_whole =
      number && std::abs(*number) < static_cast<double>(kMostTimeNs) && std::trunc(*number) == *number;
  return is_whole ? std::optional(static_cast<int64_t>(*number)) : std::nullopt;
}

int64_t NsysCursor::Duration(int64_t start_ns, int column) const {
  const std::optional<int64_t> end_ns = Time(column);
  return end_ns && *end_ns >= start_ns ? *end_ns - start_ns : kNoValue;
}

std::optional<std::string> NsysCursor::Resolved(int column) {
  if (IsNull(column)) return std::nullopt;
  const Column& of = columns_[static_cast<size_t>(column)];
  if (of.target == Target::kString) return source_.strings.Text(query_.Integer(column));
  if (of.target != Target::kLabel) return std::nullopt;
  const auto found = of.labels->find(query_.Integer(column));
  return found == of.labels->end() ? std::nullopt : std::optional(found->second);
}

uint32_t NsysCursor::ResolvedNumber(int column) {
  if (IsNull(column)) return 0;
  const EventArg arg = ArgOf(column, query_.Type(column));
  return arg.type == ArgType::kString ? static_cast<uint32_t>(arg.value) : 0;
}

std::vector<EventArg>& NsysCursor::Args(int64_t correlation) {
  args_.clear();
  for (size_t i = 0; i < columns_.size(); ++i) {
    const int column = static_cast<int>(i);
    if (columns_[i].taken) continue;
    const int type = query_.Type(column);
    if (type == SQLITE_NULL) continue;
    EventArg arg = ArgOf(column, type);
    if (columns_[i].is_correlation && arg.type == ArgType::kInteger && arg.value == correlation) {
      arg.type = ArgType::kCorrelation;
    }
    args_.push_back(arg);
  }
  return args_;
}

void NsysCursor::AddArg(int column) {
  if (!IsNull(column)) args_.push_back(ArgOf(column, query_.Type(column)));
}

void NsysCursor::AddTextArg(std::string_view key, std::string_view text) {
  args_.push_back({source_.batch.Text(key), ArgType::kString, source_.batch.Text(text)});
}

void NsysCursor::AddIntegerArg(std::string_view key, int64_t value) {
  args_.push_back({source_.batch.Text(key), ArgType::kInteger, value});
}

EventArg NsysCursor::ArgOf(int column, int type) {
  Column& of = columns_[static_cast<size_t>(column)];
  if ((type == SQLITE_FLOAT || type == SQLITE_TEXT) && (of.target != Target::kNothing || of.is_correlation)) {
    if (const std::optional<int64_t> id = Id(column, type)) return ArgOfInteger(of, *id);
  }
  switch (type) {
    case SQLITE_INTEGER:
      return ArgOfInteger(of, query_.Integer(column));
    case SQLITE_FLOAT:
      return RealArg(source_.batch, of.key, query_.Real(column));
    case SQLITE_TEXT:
      return {of.key, ArgType::kString, source_.batch.Text(query_.Text(column))};
    case SQLITE_BLOB:
      return {of.key, ArgType::kString, source_.batch.Text(HexOf(query_.Bytes(column)))};
    default:
      return {of.key, ArgType::kNull, 0};
  }
}

EventArg NsysCursor::ArgOfInteger(Column& column, int64_t value) {
  EventArg arg{column.key, ArgType::kInteger, value};
  if (value == kNoValue) return {column.key, ArgType::kNumber, source_.batch.Text(std::to_string(value))};
  if (column.target == Target::kNothing) return arg;
  if (column.has_last && column.last == value) return column.last_arg;
  if (column.target == Target::kString) {
    if (const auto number = source_.strings.Number(value)) arg = {column.key, ArgType::kString, *number};
  } else if (column.target == Target::kLabel) {
    const auto found = column.labels->find(value);
    if (found != column.labels->end()) arg = {column.key, ArgType::kString, source_.batch.Text(found->second)};
  } else if (const auto chain = column.callchains->Find(value)) {
    arg = {column.key, ArgType::kJson, source_.batch.Json(chain->json)};
  }
  column.has_last = true;
  column.last = value;
  column.last_arg = arg;
  return arg;
}

}  // namespace kprof

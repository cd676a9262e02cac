#include "daemon/analysis/sql/keyed_rows.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "storage/trace_sql/parts/sql_id.h"
#include "storage/trace_sql/sql_result.h"

namespace kprof {
namespace {

std::string KeysOf(std::span<const SliceField> all) {
  std::string keys;
  for (const SliceField field : all) keys += (keys.empty() ? "" : ", ") + std::string(WordsOf(field).key);
  return keys;
}

bool IsOfTrack(SliceField field) {
  return field <= SliceField::kProcess;
}

// Nothing: it is no field of a track's, or has no value there.
GroupValue ValueOfTrack(const OpenPart& part, const TrackRow& track, SliceField field) {
  const auto maybe = [](const auto& value) { return value ? GroupValue(*value) : GroupValue(); };
  switch (field) {
    case SliceField::kRun:
      return part.place().run;
    case SliceField::kPart:
      return part.place().part;
    case SliceField::kRank:
      return maybe(part.rank());
    case SliceField::kTrackKind:
      return track.kind;
    case SliceField::kTrackName:
      return track.name;
    case SliceField::kDevice:
      return maybe(track.device);
    case SliceField::kStream:
      return maybe(track.stream);
    case SliceField::kProcess:
      return maybe(track.process);
    default:
      return {};
  }
}

}  // namespace

Result<std::vector<SliceField>> ReadKeys(const char* function, FunctionArguments arguments,
                                         std::span<const SliceField> all) {
  std::vector<SliceField> keys;
  for (const std::optional<ScanCell>& argument : arguments) {
    if (!argument) continue;
    const auto* text = std::get_if<std::string>(&*argument);
    if (text == nullptr) {
      return FailCall(function, "a key is not a text", "write it in single quotes; keys are " + KeysOf(all));
    }
    const std::optional<SliceField> field = FieldOfKey(*text);
    if (!field || std::find(all.begin(), all.end(), *field) == all.end()) {
      return FailCall(function, "there is no key \"" + *text + "\"", "keys are " + KeysOf(all));
    }
    if (std::find(keys.begin(), keys.end(), *field) != keys.end()) {
      return FailCall(function, "the key " + *text + " is there twice", "name it once");
    }
    keys.push_back(*field);
  }
  return keys;
}

bool HasKeyField(FunctionArguments arguments, SliceField field) {
  return std::any_of(arguments.begin(), arguments.end(), [&](const std::optional<ScanCell>& argument) {
    const auto* text = argument ? std::get_if<std::string>(&*argument) : nullptr;
    const std::optional<SliceField> key = text != nullptr ? FieldOfKey(*text) : std::nullopt;
    return key && (*key == field || (*key == SliceField::kTrackId && IsOfTrack(field)));
  });
}

void ResultGroupValue(const GroupValue& value, sqlite3_context* out) {
  if (const auto* number = std::get_if<int64_t>(&value)) sqlite3_result_int64(out, *number);
  if (const auto* text = std::get_if<std::string>(&value)) ResultCopied(out, *text);
}

bool ResultOfTrack(const OpenPart& part, uint32_t track, SliceField field, sqlite3_context* out) {
  if (!IsOfTrack(field)) return false;
  if (field == SliceField::kTrackId) {
    sqlite3_result_int64(out, part.IdOf(track));
  } else {
    ResultGroupValue(ValueOfTrack(part, part.facts().tracks()[track], field), out);
  }
  return true;
}

void KeyedRows::Add(GroupKey values) {
  size_bytes_ += static_cast<int64_t>(sizeof(GroupKey) + values.size() * sizeof(GroupValue));
  for (const GroupValue& value : values) {
    if (const auto* text = std::get_if<std::string>(&value)) size_bytes_ += static_cast<int64_t>(text->size());
  }
  rows_.push_back(std::move(values));
}

void KeyedRows::Key(size_t row, size_t at, sqlite3_context* out) const {
  if (at < fields_.size()) Field(row, fields_[at], out);
}

bool KeyedRows::Field(size_t row, SliceField field, sqlite3_context* out) const {
  const auto found = std::find(fields_.begin(), fields_.end(), field);
  if (found != fields_.end()) {
    const GroupValue& value = rows_[row][static_cast<size_t>(found - fields_.begin())];
    const auto* text = std::get_if<std::string>(&value);
    const bool is_none = field == SliceField::kCategory && text != nullptr && text->empty();
    if (!is_none) ResultGroupValue(value, out);
    return true;
  }
  const auto track = std::find(fields_.begin(), fields_.end(), SliceField::kTrackId);
  if (track == fields_.end() || !IsOfTrack(field)) return false;
  const int64_t id = std::get<int64_t>(rows_[row][static_cast<size_t>(track - fields_.begin())]);
  return ResultOfTrack(*set_.parts()[static_cast<size_t>(PartOfSqlId(id))], static_cast<uint32_t>(NumberOfSqlId(id)),
                       field, out);
}

}  // namespace kprof

#include "daemon/analysis/sql/keyed_rows.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "storage/trace_sql/parts/open_part.h"
#include "storage/trace_sql/trace_tables.h"

namespace kprof {
namespace {

struct KnownKey {
  SliceField key;
  BusyBy by;
};
constexpr KnownKey kKeys[] = {
    {SliceField::kTrackId, BusyBy::kTrack}, {SliceField::kStream, BusyBy::kStream},
    {SliceField::kDevice, BusyBy::kDevice}, {SliceField::kTrackKind, BusyBy::kTrackKind},
    {SliceField::kPart, BusyBy::kAll},
};
constexpr SliceField kKeyFields[] = {SliceField::kTrackId, SliceField::kStream, SliceField::kDevice,
                                     SliceField::kTrackKind, SliceField::kPart};

std::vector<SliceField> FieldsOf(SliceField key) {
  std::vector<SliceField> fields = {key, SliceField::kRun, SliceField::kRank};
  if (key != SliceField::kPart) fields.push_back(SliceField::kPart);
  if (key == SliceField::kStream) fields.push_back(SliceField::kDevice);
  return fields;
}

}  // namespace

Result<BusyKey> ReadBusyKey(const FunctionCall& call, size_t argument, SliceField by_default) {
  const FunctionArguments one = call.arguments.subspan(argument, 1);
  ASSIGN_OR_RETURN(const std::vector<SliceField> keys, ReadKeys(call.function, one, kKeyFields));
  const SliceField key = keys.empty() ? by_default : keys.front();
  const auto* known = std::find_if(std::begin(kKeys), std::end(kKeys), [&](const KnownKey& k) { return k.key == key; });
  return BusyKey{known->by, FieldsOf(key)};
}

GroupKey ValuesOf(const BusyKey& key, const OpenPart& part, const BusyGroup& group) {
  const auto maybe = [](const std::optional<int64_t>& value) { return value ? GroupValue(*value) : GroupValue(); };
  GroupKey values;
  for (const SliceField field : key.fields) {
    switch (field) {
      case SliceField::kRun:
        values.emplace_back(part.place().run);
        break;
      case SliceField::kPart:
        values.emplace_back(part.place().part);
        break;
      case SliceField::kRank:
        values.push_back(maybe(part.rank()));
        break;
      case SliceField::kTrackId:
        values.emplace_back(part.IdOf(group.track.value_or(0)));
        break;
      case SliceField::kStream:
        values.push_back(maybe(group.stream));
        break;
      case SliceField::kDevice:
        values.push_back(maybe(group.device));
        break;
      default:
        values.emplace_back(group.track_kind);
        break;
    }
  }
  return values;
}

bool HasBusyField(FunctionArguments arguments, size_t argument, SliceField by_default, SliceField field) {
  const auto* text = arguments[argument] ? std::get_if<std::string>(&*arguments[argument]) : nullptr;
  const SliceField key = text == nullptr ? by_default : FieldOfKey(*text).value_or(by_default);
  if (key == SliceField::kTrackId) return field <= SliceField::kProcess;
  const std::vector<SliceField> fields = FieldsOf(key);
  return std::find(fields.begin(), fields.end(), field) != fields.end();
}

namespace {

constexpr SliceField kGroupFields[] = {
    SliceField::kName,      SliceField::kCategory, SliceField::kTrackId, SliceField::kTrackKind,
    SliceField::kTrackName, SliceField::kDevice,   SliceField::kStream,  SliceField::kProcess,
    SliceField::kRank,      SliceField::kPart,     SliceField::kRun,
};

// Nothing: whose slices are asked for apart.
std::optional<GroupBy> GroupByOf(SliceField field) {
  switch (field) {
    case SliceField::kName:
      return GroupBy::kName;
    case SliceField::kCategory:
      return GroupBy::kCategory;
    case SliceField::kTrackId:
      return GroupBy::kTrack;
    case SliceField::kTrackKind:
      return GroupBy::kTrackKind;
    case SliceField::kTrackName:
      return GroupBy::kTrackName;
    case SliceField::kDevice:
      return GroupBy::kDevice;
    case SliceField::kStream:
      return GroupBy::kStream;
    case SliceField::kProcess:
      return GroupBy::kProcess;
    case SliceField::kRank:
      return GroupBy::kRank;
    default:
      return std::nullopt;
  }
}

bool Has(const std::vector<SliceField>& keys, SliceField field) {
  return std::find(keys.begin(), keys.end(), field) != keys.end();
}

}  // namespace

std::span<const SliceField> GroupFields() {
  return kGroupFields;
}

Result<KeyedQuestion> MakeKeyedQuestion(const FunctionCall& call) {
  KeyedQuestion question;
  ASSIGN_OR_RETURN(question.keys, ReadKeys(call.function, call.arguments, kGroupFields));
  for (const SliceField key : question.keys) {
    const std::optional<GroupBy> by = GroupByOf(key);
    if (by) question.by.push_back(*by);
  }
  if (Has(question.keys, SliceField::kPart)) {
    question.asked = call.slices.ByPart();
  } else if (Has(question.keys, SliceField::kRun)) {
    question.asked = call.slices.ByRun();
  } else {
    question.asked = {call.slices.all()};
  }
  return question;
}

GroupKey ValuesOf(const KeyedQuestion& question, const ChosenParts& of, GroupKey group) {
  GroupKey values;
  size_t taken = 0;
  for (const SliceField key : question.keys) {
    if (key == SliceField::kRun) {
      values.emplace_back(of.open.front()->place().run);
    } else if (key == SliceField::kPart) {
      values.emplace_back(of.open.front()->place().part);
    } else if (key == SliceField::kTrackId) {
      const int64_t track = std::get<int64_t>(group[taken++]);
      values.emplace_back(of.open[PartOfTrackKey(track)]->IdOf(TrackOfTrackKey(track)));
    } else {
      values.push_back(std::move(group[taken++]));
    }
  }
  return values;
}

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

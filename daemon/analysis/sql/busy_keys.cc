#include "daemon/analysis/sql/busy_keys.h"

#include <algorithm>
#include <iterator>
#include <optional>

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

}  // namespace kprof

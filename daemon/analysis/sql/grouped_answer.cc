#include "daemon/analysis/sql/grouped_answer.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace kprof {
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

}  // namespace kprof

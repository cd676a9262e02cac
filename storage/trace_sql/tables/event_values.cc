#include "storage/trace_sql/tables/event_values.h"

#include <bit>
#include <string>
#include <string_view>

#include "storage/base/readable_text.h"
#include "storage/trace_sql/sql_result.h"

namespace kprof {
namespace {

Status ResultTrack(const OpenPart& part, int64_t track, sqlite3_context* out) {
  if (track < 0 || track >= static_cast<int64_t>(part.facts().tracks().size())) {
    return part.Broken("it has no track " + std::to_string(track));
  }
  sqlite3_result_int64(out, part.IdOf(track));
  return OkStatus();
}

// A letter, or none. One that is no text of its own (a byte of several) is shown as such bytes are.
Status ResultPhase(const OpenPart& part, int64_t phase, sqlite3_context* out) {
  if (phase == 0) return OkStatus();
  if (phase < -128 || phase > 255) {  // a byte, as one with a sign or without
    return part.Broken("it has a row of phase " + std::to_string(phase) + ", which is no letter");
  }
  const auto letter = static_cast<char>(phase);
  ResultCopied(out, ReadableText(std::string_view(&letter, 1)));
  return OkStatus();
}

}  // namespace

Status ResultValue(EventField field, OpenPart& part, int64_t number, sqlite3_context* out) {
  switch (field) {
    case EventField::kTrackId:
      return ResultTrack(part, number, out);
    case EventField::kName:
    case EventField::kCategory: {
      if (number == 0 && field == EventField::kCategory) return OkStatus();
      ASSIGN_OR_RETURN(const PartText text, part.ReadText(number));
      ResultText(out, text);
      return OkStatus();
    }
    case EventField::kFlowId:
      return ResultFlowId(part, number, out);
    case EventField::kValue:
      sqlite3_result_double(out, std::bit_cast<double>(number));
      return OkStatus();
    case EventField::kCorrelation:
      ResultInteger(out, SqlCorrelation(part.number(), number));
      return OkStatus();
    case EventField::kPhase:
      return ResultPhase(part, number, out);
    case EventField::kSlice:
      ResultInteger(out, number == kNoValue ? kNoValue : part.IdOf(number));
      return OkStatus();
    default:
      ResultInteger(out, number);
      return OkStatus();
  }
}

bool ResultHeldValue(EventField field, const OpenPart& part, int64_t number, sqlite3_context* out) {
  switch (field) {
    case EventField::kName:
    case EventField::kCategory: {
      if (number == 0 && field == EventField::kCategory) return true;
      const PartText* text = part.NoteText(number);
      if (text != nullptr) ResultText(out, *text);
      return text != nullptr;
    }
    case EventField::kTrackId:
      if (static_cast<uint64_t>(number) >= part.facts().tracks().size()) return false;
      sqlite3_result_int64(out, part.IdOf(number));
      return true;
    case EventField::kTime:
    case EventField::kDuration:
    case EventField::kDepth:
    case EventField::kParent:
      ResultInteger(out, number);
      return true;
    case EventField::kCorrelation:
      ResultInteger(out, SqlCorrelation(part.number(), number));
      return true;
    default:
      return false;
  }
}

}  // namespace kprof

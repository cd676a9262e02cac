#include "client/cli/error_json.h"

namespace kprof::cli {
namespace {

void WriteMembers(JsonWriter& json, const Status& failure) {
  json.Key("code").String(ErrorName(failure.code())).Key("message").String(failure.what() + ": " + failure.why());
  json.Key("remedy").StringOrNull(failure.remedy());
}

}  // namespace

std::string ErrorJsonLine(const Status& failure) {
  return JsonLine("kprof.error.v1", [&](JsonWriter& json) { WriteMembers(json, failure); });
}

void WriteErrorMember(JsonWriter& json, const Status& failure) {
  json.Key("error").BeginObject();
  WriteMembers(json, failure);
  json.EndObject();
}

}  // namespace kprof::cli

// A message of the daemon as JSON: its fields by their names, in their order, so the proto's comments hold here as
// well. An absent field is null, and so is an empty text.
#pragma once

#include <google/protobuf/message.h>

#include "client/cli/text/json_writer.h"

namespace kprof::cli {

// Writes one object.
void WriteMessage(JsonWriter& json, const google::protobuf::Message& message);

// Writes the fields alone, into the open object.
void WriteFields(JsonWriter& json, const google::protobuf::Message& message);

}  // namespace kprof::cli

// A message of the daemon as JSON: its fields by their names, in their order, so that what the proto says of them holds
// here as well. What is absent is null, and so is an empty text.
#pragma once

#include <google/protobuf/message.h>

#include "client/cli/text/json_writer.h"

namespace kprof::cli {

// One object.
void WriteMessage(JsonWriter& json, const google::protobuf::Message& message);

// Its fields alone, into an object that is open.
void WriteFields(JsonWriter& json, const google::protobuf::Message& message);

}  // namespace kprof::cli

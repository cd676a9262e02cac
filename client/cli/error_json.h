// A failure in JSON, as docs/cli.md promises it: the object of its own that goes to standard error, and the member of a
// result that breaks off.
#pragma once

#include <string>

#include "client/cli/text/json_writer.h"
#include "storage/base/status.h"

namespace kprof::cli {

// kprof.error.v1 on a line of its own.
std::string ErrorJsonLine(const Status& failure);

// "error":{"code","message","remedy"}, into the object that is open.
void WriteErrorMember(JsonWriter& json, const Status& failure);

}  // namespace kprof::cli

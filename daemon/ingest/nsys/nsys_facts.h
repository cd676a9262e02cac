// What an Nsight Systems export says of the capture as a whole: when it began, on which GPUs, with which versions and
// settings. Exports also hold the environment, command line, output, user and host of whoever made them: of those
// tables only what is on a list here is read.
#pragma once

#include "daemon/ingest/nsys/nsys_cursor.h"

namespace kprof {

Status SetNsysFacts(NsysSource& source);

// Tables that are read here or by the readers of events, beside those whose rows are events; or never.
bool IsNsysSideTable(std::string_view name);

}  // namespace kprof

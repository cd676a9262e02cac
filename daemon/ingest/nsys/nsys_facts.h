// Facts of a whole capture from an Nsight Systems export: when it began, on which GPUs, with which versions and
// settings. Exports also hold the environment, command line, output, user and host of the people who made them: from
// such tables only the names and columns on a list here are read.
#pragma once

#include "daemon/ingest/nsys/nsys_cursor.h"

namespace kprof {

Status SetNsysFacts(NsysSource& source);

// True for tables whose rows are no events: they are read here or beside tables of events, or never.
bool IsNsysSideTable(std::string_view name);

}  // namespace kprof

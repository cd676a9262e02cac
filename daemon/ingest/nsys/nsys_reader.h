// Reads an Nsight Systems SQLite export; docs/trace_format.md says what becomes of each table. Tables and columns are
// found by their names, and those that a version of the tool does not write are just not there.
//
// Strings of its batches are as batch_sink.h says, times are ns from the start of the capture. Private data (the
// environment, outputs, other processes) is not read, or dropped here. One thread; blocks. Memory is bounded by a
// batch, SQLite's 4 MiB of pages, and the different strings that events refer to.
#pragma once

#include <string_view>

#include "daemon/ingest/assemble/batch_sink.h"
#include "daemon/ingest/source/source_file.h"
#include "storage/base/status.h"

namespace kprof {

// True if a file that begins so may be an export. The first 16 bytes are enough; only its tables tell an export from
// another SQLite database.
bool LooksLikeNsys(std::string_view first_bytes);

// Fails with kNotFound when it is no export, naming what is missing; kBadInput when its list of tables cannot be read;
// else as `sink` does. Damage ends the reading of its table, with a warning that names the table and the number of rows
// read.
Status ReadNsys(const SourceFile& source, BatchSink& sink);

}  // namespace kprof

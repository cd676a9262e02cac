// Reads an Nsight Systems SQLite export: what becomes of which table is in docs/trace_format.md. Tables and columns are
// found by their names, and those that a version of the tool does not write are just not there.
//
// Strings of its batches are as batch_sink.h says, times ns from the start of the capture. What no one may see (the
// environment, outputs, other processes) is not read, or dropped here. One thread; blocks. Memory is bounded by a
// batch, SQLite's 4 MiB of pages, and the different strings that events refer to.
#pragma once

#include <string_view>

#include "daemon/ingest/assemble/batch_sink.h"
#include "daemon/ingest/source/source_file.h"
#include "storage/base/status.h"

namespace kprof {

// Whether a file that begins so may be one. Enough are the first 16 bytes; only its tables tell an export from another
// SQLite database.
bool LooksLikeNsys(std::string_view first_bytes);

// Fails with kNotFound where it is no export, saying what is missing, kBadInput where that cannot be read. What is
// damaged ends the reading of its table, with a warning that names it and how many of its rows were read; else as
// `sink` says.
Status ReadNsys(const SourceFile& source, BatchSink& sink);

}  // namespace kprof

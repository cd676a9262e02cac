// Reads the tables that neuron-explorer writes of a Neuron runtime with `--output-format parquet`: its events
// (`SystemProfileEvents.parquet`), and samples of the host and of the devices' memory. Rows are those of the same
// events as JSON (system_trace_reader.h). Columns are found by name, each is optional.
//
// Memory: a page of each column, and the texts of some thousand rows, 64 MiB at most.
#pragma once

#include "daemon/ingest/assemble/batch_sink.h"
#include "daemon/ingest/parquet/parquet_file.h"
#include "daemon/ingest/source/source_file.h"
#include "storage/base/status.h"

namespace kprof {

// True for a file with one of these tables: by its name, where its columns do not speak against it, else by these.
bool IsSystemTable(const SourceFile& file, const ParquetFile& parquet);

// REQUIRES: IsSystemTable(). Fails as ColumnReader does. A file that is damaged behind some of its rows gives these,
// with a warning.
Status ReadSystemTable(const SourceFile& file, const ParquetFile& parquet, BatchSink& sink);

}  // namespace kprof

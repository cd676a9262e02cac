// Reads a table of a device profile as the Neuron profiler writes it with `--output-format parquet`: one file for each
// table, `Instruction.parquet`, `DmaPacket_0.parquet` (docs/trace_format.md#from-neuron-device-profiles). Columns are
// found by name, each is optional; the table is known by the file's name, else by its columns. Tables of a runtime's
// trace are read as system_table_reader.h says.
//
// Memory: a page of each column, and as profile_rows.h says.
#pragma once

#include <span>

#include "daemon/ingest/assemble/batch_sink.h"
#include "daemon/ingest/neuron/profile_rows.h"
#include "daemon/ingest/source/source_file.h"
#include "storage/base/status.h"

namespace kprof {

// Fails with kNotFound for a file that is no table of a profile, and as ParquetFile and ColumnReader do. A file that is
// damaged behind some of its rows gives these, with a warning.
Status ReadNeuronParquet(const SourceFile& file, BatchSink& sink, const ProfileLimits& limits = {});

}  // namespace kprof

// What the readers of the tables of one Nsight Systems export share: the file, its strings, and where events go.
//
// One thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>

#include "daemon/ingest/assemble/batch_builder.h"
#include "daemon/ingest/nsys/nsys_callchains.h"
#include "daemon/ingest/nsys/nsys_database.h"
#include "daemon/ingest/nsys/nsys_processes.h"
#include "daemon/ingest/nsys/nsys_strings.h"
#include "daemon/ingest/nsys/nsys_tracks.h"

namespace kprof {

struct NsysSource {
  // Both are borrowed. `size_bytes` is the file's.
  NsysSource(NsysDatabase& file, BatchSink& sink, int64_t file_bytes)
      : database(file),
        batch(sink),
        strings(file, batch),
        enums(file),
        processes(file, strings),
        tracks(file, batch, processes),
        size_bytes(file_bytes) {}
  NsysSource(const NsysSource&) = delete;
  NsysSource& operator=(const NsysSource&) = delete;

  // Of one of the ..._CALLCHAINS tables.
  NsysCallchains& CallchainsOf(const std::string& table) {
    std::unique_ptr<NsysCallchains>& chains = callchains[table];
    if (chains == nullptr) chains = std::make_unique<NsysCallchains>(database, table, strings);
    return *chains;
  }

  // To be called now and then: how much of the file is done, going by rows.
  Status TellProgress() {
    const double share =
        std::min(1.0, static_cast<double>(rows_done) / static_cast<double>(std::max<int64_t>(rows, 1)));
    // Some tables are gone through twice.
    bytes_done = std::max(bytes_done, static_cast<int64_t>(share * static_cast<double>(size_bytes)));
    return batch.sink().Progress(bytes_done, batch.events());
  }

  NsysDatabase& database;
  BatchBuilder batch;
  NsysStrings strings;
  NsysEnums enums;
  NsysProcesses processes;
  NsysTracks tracks;
  std::map<std::string, std::unique_ptr<NsysCallchains>> callchains;
  const int64_t size_bytes;
  int64_t rows = 0;  // of all tables that will be read, about
  int64_t rows_done = 0;
  int64_t bytes_done = 0;  // as was told
};

}  // namespace kprof

// How a run's charts are drawn: its parts are opened, its report is made (daemon/analysis/report), and the files of it
// that are pictures are taken. Runs know nothing of analyses.
#pragma once

#include "daemon/runs/command/run_charts.h"
#include "storage/base/files.h"
#include "storage/catalog/catalog.h"
#include "storage/trace/read/part_pool.h"

namespace kprof {

// All are borrowed.
DrawRunCharts MakeDrawRunCharts(Files& files, Catalog& catalog, PartPool& parts);

}  // namespace kprof

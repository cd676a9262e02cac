// What one more state of a run costs the catalog: UpdateRun in a transaction of its own, on a run without metrics, on
// one with 300,000 metrics of its kernels (1,000 launches with 300 each) beside the row, and on one that carries them
// in its row, as totals are. Syncs are left out: they are the same for all.
//
//     bench_state_commits [COMMITS]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "storage/catalog/catalog_schema.h"
#include "storage/catalog/run_details.h"
#include "storage/catalog/run_table.h"
#include "storage/db/db.h"
#include "tests/fakes/base/temporary_folder.h"

namespace kprof {
namespace {

constexpr int64_t kLaunches = 1'000;
constexpr int64_t kMetrics = 300;
constexpr double kNanosPerMicro = 1'000;

void Require(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "bench_state_commits: %s\n", status.ToString().c_str());
  std::exit(1);
}

std::vector<MetricRow> ManyMetrics() {
  std::vector<MetricRow> metrics;
  for (int64_t launch = 0; launch < kLaunches; ++launch) {
    for (int64_t i = 0; i < kMetrics; ++i) {
      metrics.push_back(
          {"smsp__inst_executed.sum." + std::to_string(i), static_cast<double>(i), "inst", "gemm", launch});
    }
  }
  return metrics;
}

void Measure(Db& db, const char* what, const RunRow& run, int commits) {
  std::vector<double> micros;
  for (int i = 0; i < commits; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    Require(db.Execute("BEGIN IMMEDIATE"));
    Require(UpdateRun(db, run));
    Require(db.Execute("COMMIT"));
    const auto took = std::chrono::steady_clock::now() - begin;
    micros.push_back(static_cast<double>(std::chrono::nanoseconds(took).count()) / kNanosPerMicro);
  }
  std::sort(micros.begin(), micros.end());
  std::printf("%-36s median %10.1f us, 99 %% %10.1f us\n", what, micros[micros.size() / 2],
              micros[micros.size() * 99 / 100]);
}

}  // namespace
}  // namespace kprof

int main(int argc, char** argv) {
  using namespace kprof;
  const int commits = argc > 1 ? std::atoi(argv[1]) : 1'000;
  const TemporaryFolder folder;
  Db db = *Db::Open(folder / "catalog.db", {.mode = Db::Mode::kReadWrite});
  Require(MakeCatalog(db));
  Require(db.Execute("PRAGMA synchronous = OFF"));
  RunRow run;
  run.tool = "command";
  run.argv = {"python3", "train.py"};
  run.state = RunState::kRunning;
  run.metrics = {{.name = "wall_ns", .value = 5, .unit = "ns"}};
  for (const char* id : {"none", "beside", "within"}) {
    run.id = id;
    Require(InsertRun(db, run));
  }
  Require(db.Execute("BEGIN"));
  Require(PutKernelMetrics(db, "beside", ManyMetrics()));
  Require(db.Execute("COMMIT"));
  run.id = "none";
  Measure(db, "no metrics of kernels", run, commits);
  run.id = "beside";
  Measure(db, "300,000 of them beside the row", run, commits);
  run.id = "within";
  run.metrics = ManyMetrics();
  Measure(db, "300,000 of them within the row", run, std::min(commits, 20));
  return 0;
}

// How long a Neuron system trace takes until it is a part, and until the part has told which line cost what and what
// the device waited for. In one process, as kprof-ingest and kprofd do it in two.
//
//     build/release/bin/bench_neuron_system FILE.json [TURNS]
#include <fcntl.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/kinds/analysis_kinds.h"
#include "daemon/base/worker_pool.h"
#include "daemon/ingest/source/source_file.h"
#include "daemon/ingest/source_reader.h"
#include "storage/base/descriptors.h"
#include "storage/base/files.h"
#include "storage/trace/write/part_writer.h"

namespace {

using namespace kprof;

template <typename T>
T Must(Result<T> result) {
  if (result.ok()) return *std::move(result);
  std::fprintf(stderr, "%s\n", result.status().ToString().c_str());
  std::exit(1);
}

// Of all threads: on a busy machine it says more than the time on the wall.
double ProcessorSeconds() {
  timespec spent = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
  return static_cast<double>(spent.tv_sec) + static_cast<double>(spent.tv_nsec) / 1e9;
}

double SecondsOf(const std::function<void()>& work) {
  const auto began = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const int turns = argc > 2 ? std::atoi(argv[2]) : 3;
  const std::string path = (std::filesystem::temp_directory_path() / "bench_neuron_system.trace.db").string();
  const std::unique_ptr<Files> files = MakePosixFiles();
  double best = 1e9;
  for (int turn = 0; turn < turns; ++turn) {
    std::filesystem::remove(path);
    WorkerPool pool({.threads = 2});
    const double spent = ProcessorSeconds();
    const double read = SecondsOf([&] {
      const UniqueFd fd(open(argv[1], O_RDONLY | O_CLOEXEC));
      const SourceFile source = Must(SourceFile::Open(fd.get(), argv[1]));
      const std::unique_ptr<PartWriter> part = Must(PartWriter::Create(*files, path));
      const ReadSourceResult result = Must(ReadSource(source, {}, pool, *part, [](int64_t, int64_t) {}, {}));
      Must(part->Finish({}));
      if (turn == 0) {
        for (const std::string& warning : result.warnings) std::printf("warning: %s\n", warning.c_str());
      }
    });
    std::printf("read %.3f s", read);
    double asked = 0;
    ColumnCache cache{int64_t{512} << 20};  // of all questions, as kprofd has it
    const std::unique_ptr<PartReader> reader = Must(PartReader::Open(path, cache));
    for (const char* name : {"lines", "device-idle"}) {
      const AnalysisKind* kind = Must(FindAnalysisKind(name));
      size_t rows = 0;
      const double seconds = SecondsOf([&] {
        const AnalysisTraces traces({PartOf(*reader)}, {"bench"});
        const AnalysisOptions options = Must(AnalysisOptions::Read("bench", kind->options, {}));
        const AnalysisAnswer answer = Must(Analyze(*kind, traces, options, {}));
        rows = answer.rows(0).size();
      });
      asked += seconds;
      std::printf(", %s %.3f s (%zu rows)", name, seconds, rows);
    }
    std::printf(", in all %.3f s, %.3f s of processors\n", read + asked, ProcessorSeconds() - spent);
    best = std::min(best, read + asked);
  }
  std::printf("least %.3f s\n", best);
  std::filesystem::remove(path);
  return 0;
}

// The job that the questions about traces in docs/sql.md are about, for tests: two ranks, two steps each.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "storage/trace_sql/parts/open_part.h"
#include "tests/fakes/base/temporary_folder.h"
#include "tests/fakes/trace/made_part.h"

namespace kprof {

inline constexpr int64_t kUs = 1000;

// Two steps of a small model on one rank of a job: operators and launches on a thread, kernels and a copy on two
// streams, flows from launches to kernels, one from the forward to a backward that nobody traced, how much memory the
// device had, and what the process is called.
class Step {
 public:
  Step(MadePart& part, int64_t slower_ns) : part_(part), slower_ns_(slower_ns) {
    thread_ =
        part.AddTrack({.kind = "cpu_thread", .name = "python", .pid = "4711", .tid = "4711", .process = "python3"});
    compute_ = part.AddTrack({.kind = "gpu_stream", .name = "stream 7", .device = 0, .stream = 7});
    communication_ = part.AddTrack({.kind = "gpu_stream", .name = "stream 20", .device = 0, .stream = 20});
    memory_ = part.AddTrack({.kind = "counter", .name = "GPU memory"});
    part.Add(EventKind::kMetadata,
             {.track = thread_, .name = "process_name", .args = {TextArg("name", "python3")}, .phase = 'M'});
  }

  void Add(int64_t number) {
    const int64_t at = number * 1000 * kUs;
    Slice(thread_, at, 900 * kUs, "ProfilerStep#" + std::to_string(number), "user_annotation");
    Operator(at + 10 * kUs, 300 * kUs, "aten::linear", "[[64,512],[512,512]]");
    Operator(at + 20 * kUs, 200 * kUs, "aten::mm", "[[64,512],[512,512]]");
    Launch(at + 50 * kUs, compute_, 200 * kUs, "gemm_128x128", "kernel", {IntegerArg("registers per thread", 128)});
    Operator(at + 400 * kUs, 100 * kUs, "aten::relu", "[[64,512]]");
    Launch(at + 420 * kUs, compute_, 40 * kUs, "relu_kernel", "kernel", {IntegerArg("registers per thread", 16)});
    Operator(at + 600 * kUs, 100 * kUs, "c10d::allreduce_", "[[512,512]]");
    Launch(at + 620 * kUs, communication_, 150 * kUs + slower_ns_, "ncclDevKernel_AllReduce", "kernel",
           {TextArg("Collective name", "allreduce")});
    Launch(at + 700 * kUs, compute_, 60 * kUs, "Memcpy DtoH", "gpu_memcpy",
           {IntegerArg("bytes", 131072 * (number + 1)),
            {"memory bandwidth (GB/s)", ArgType::kDecimal, *PackDecimal({218 + number, 2}), {}}});
    // What the profiler draws over a stream is no work of it.
    Slice(compute_, at + 80 * kUs, 710 * kUs, "ProfilerStep#" + std::to_string(number), "gpu_user_annotation");
    MadeEvent forward{.time_ns = at + 400 * kUs, .track = thread_, .name = "fwdbwd", .category = "fwdbwd"};
    forward.flow = std::to_string(number);
    part_.Add(EventKind::kFlow, forward);
    part_.Add(EventKind::kInstant, {.time_ns = at + 890 * kUs,
                                    .track = thread_,
                                    .name = "loss",
                                    .category = "user",
                                    .args = {{"value", ArgType::kDecimal, *PackDecimal({250 - 50 * number, 2}), {}}}});
    part_.Add(EventKind::kCounter,
              {.time_ns = at, .track = memory_, .value = 1024.0 + 512.0 * static_cast<double>(number)});
  }

 private:
  void Slice(int64_t track, int64_t time_ns, int64_t duration_ns, const std::string& name, const std::string& category,
             std::vector<MadeArg> args = {}, int64_t correlation = kNoValue) {
    part_.Add(EventKind::kSlice, {.time_ns = time_ns,
                                  .duration_ns = duration_ns,
                                  .track = track,
                                  .name = name,
                                  .category = category,
                                  .correlation = correlation,
                                  .args = std::move(args)});
  }
  void Operator(int64_t time_ns, int64_t duration_ns, const std::string& name, const std::string& dims) {
    Slice(thread_, time_ns, duration_ns, name, "cpu_op", {{"Input Dims", ArgType::kJson, 0, dims}});
  }
  // What is launched begins 30 µs later.
  void Launch(int64_t time_ns, int64_t stream, int64_t duration_ns, const std::string& name,
              const std::string& category, std::vector<MadeArg> args) {
    const int64_t correlation = ++correlation_;
    const bool is_copy = category == "gpu_memcpy";
    Slice(thread_, time_ns, 10 * kUs, is_copy ? "cudaMemcpyAsync" : "cudaLaunchKernel", "cuda_runtime",
          {{"correlation", ArgType::kCorrelation, 0, {}}}, correlation);
    args.push_back({"correlation", ArgType::kCorrelation, 0, {}});
    Slice(stream, time_ns + 30 * kUs, duration_ns, name, category, std::move(args), correlation);
    MadeEvent point{.time_ns = time_ns, .track = thread_, .name = "ac2g", .category = "ac2g"};
    point.flow = std::to_string(correlation);
    part_.Add(EventKind::kFlow, point);
    point.time_ns += 30 * kUs;
    point.track = stream;
    point.phase = 'f';
    point.args = {{"bp", ArgType::kString, 0, "e", true}};
    part_.Add(EventKind::kFlow, point);
  }

  MadePart& part_;
  const int64_t slower_ns_;
  int64_t thread_ = 0;
  int64_t compute_ = 0;
  int64_t communication_ = 0;
  int64_t memory_ = 0;
  int64_t correlation_ = 0;
};

inline std::vector<TracePlace> WriteJob(const TemporaryFolder& folder) {
  std::vector<TracePlace> places;
  for (int64_t rank = 0; rank < 2; ++rank) {
    const std::string name = "rank" + std::to_string(rank);
    MadePart part(8);
    part.SetFact("rank", std::to_string(rank));
    part.SetFact("base_unix_ns", std::to_string(1'767'225'600'000'000'000 + rank * 2500));
    part.SetFact("clock", "unix");
    part.SetFact("source_name", name + ".json.gz");
    Step step(part, rank * 70 * kUs);
    step.Add(0);
    step.Add(1);
    places.push_back({"r1", name, folder / (name + ".trace.db"), {}});
    part.Write(places.back().path);
  }
  return places;
}

}  // namespace kprof

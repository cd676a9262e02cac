// Writes a Chrome trace as PyTorch's profiler would of a training job, to standard output, step after step, until it
// has so many slices. Nothing of it is kept: it is meant for a pipe.
//
//     build/release/bin/make_long_trace --slices 100000000 [--seed 1] | zstd -1 | kprofctl import -
//
// Of each step: a ProfilerStep on the main thread, in it modules, operators in each other and calls of the runtime; the
// same backwards on the thread of autograd; what a loader does on one of its own; then the kernels, copies and
// collectives that the calls started, on three streams, with the calls' correlations, and an arrow to each from its
// call; a mark for each allocation; and samples of two counters. On each track in the order of time. The same bytes for
// the same seed and number.
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr size_t kAtOnceBytes = 1 << 20;
constexpr int kLayers = 48;
constexpr int64_t kFirstNs = 4'026'150'069'145'028;  // not 0: a trace counts from when its machine was started
constexpr int kCompute = 7;
constexpr int kCollectives = 20;
constexpr int kCopies = 24;

void Give(std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t wrote = ::write(STDOUT_FILENO, text.data() + done, text.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) {
      std::perror("make_long_trace");
      std::exit(1);
    }
    done += static_cast<size_t>(wrote);
  }
  text.clear();
}

// What is started by a call, and stands on a stream later.
struct Launch {
  int64_t time_ns = 0;  // when it was called
  int64_t correlation = 0;
  int64_t external_id = 0;
  int stream = kCompute;
  size_t name = 0;
};

class Writer {
 public:
  Writer(int64_t slices, uint64_t seed) : left_(slices), random_(seed) {
    for (int i = 0; i < 160; ++i) {
      kernels_.push_back("void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_" +
                         std::to_string(64 << i % 3) + "x" + std::to_string(64 << i / 3 % 3) + "_" +
                         std::to_string(32 + 16 * (i % 5)) + "x" + std::to_string(3 + i % 4) + "_tn_align" +
                         std::to_string(1 + i) + ">(cutlass_80_tensorop_bf16_s16816gemm_relu_bf16::Params)");
    }
    for (const char* name : {"linear",
                             "addmm",
                             "matmul",
                             "mm",
                             "layer_norm",
                             "native_layer_norm",
                             "gelu",
                             "softmax",
                             "_softmax",
                             "dropout",
                             "native_dropout",
                             "add",
                             "mul",
                             "transpose",
                             "view",
                             "contiguous",
                             "clone",
                             "copy_",
                             "empty_strided",
                             "empty",
                             "scaled_dot_product_attention",
                             "bmm"}) {
      operators_.push_back(std::string("aten::") + name);
    }
  }

  void WriteAll() {
    text_ = R"({"schemaVersion": 1, "displayTimeUnit": "ms", "distributedInfo": {"backend": "nccl", "rank": 0, )"
            R"("world_size": 8}, "traceEvents": [)";
    text_ +=
        "\n"
        R"({"name": "process_name", "ph": "M", "ts": 0, "pid": 4711, "tid": 0, "args": {"name": "python3"}})";
    for (int64_t step = 0; left_ > 0; ++step) WriteStep(step);
    text_ += "\n]}\n";
    Give(text_);
  }

 private:
  uint64_t Pick(uint64_t choices) { return random_() % choices; }

  void Number(int64_t number) {
    char digits[24];
    char* at = digits + sizeof(digits);
    do {
      *--at = static_cast<char>('0' + number % 10);
      number /= 10;
    } while (number > 0);
    text_.append(at, static_cast<size_t>(digits + sizeof(digits) - at));
  }
  void Microseconds(int64_t ns) {
    Number(ns / 1000);
    const char places[] = {'.', static_cast<char>('0' + ns / 100 % 10), static_cast<char>('0' + ns / 10 % 10),
                           static_cast<char>('0' + ns % 10)};
    text_.append(places, sizeof(places));
  }

  // Up to its arguments. False where there are enough.
  bool Slice(std::string_view category, std::string_view name, int pid, int tid, int64_t begin_ns, int64_t end_ns) {
    if (left_ == 0) return false;
    --left_;
    if (text_.size() >= kAtOnceBytes) Give(text_);
    text_ += ",\n{\"ph\": \"X\", \"cat\": \"";
    text_ += category;
    text_ += "\", \"name\": \"";
    text_ += name;
    text_ += "\", \"pid\": ";
    Number(pid);
    text_ += ", \"tid\": ";
    Number(tid);
    text_ += ", \"ts\": ";
    Microseconds(begin_ns);
    text_ += ", \"dur\": ";
    Microseconds(end_ns - begin_ns);
    return true;
  }

  void Operator(std::string_view name, int tid, int64_t begin_ns, int64_t end_ns) {
    ++external_id_;
    if (!Slice("cpu_op", name, 4711, tid, begin_ns, end_ns)) return;
    text_ += ", \"args\": {\"External id\": ";
    Number(external_id_);
    text_ += ", \"Record function id\": 0, \"Ev Idx\": ";
    Number(external_id_ - 1);
    if (external_id_ % 4 == 0) {  // nothing is picked: it would be another trace where this is not written
      text_ += ", \"Input Dims\": [[";
      Number(static_cast<int64_t>(8 << external_id_ % 5));
      text_ += ", 4096]], \"Input type\": [\"c10::BFloat16\"]";
    }
    text_ += "}}";
  }

  void Call(std::string_view name, int tid, int64_t begin_ns, int64_t end_ns, int stream, size_t kernel) {
    launches_.push_back({begin_ns, ++correlation_, external_id_, stream, kernel});
    if (!Slice("cuda_runtime", name, 4711, tid, begin_ns, end_ns)) return;
    text_ += ", \"args\": {\"External id\": ";
    Number(external_id_);
    text_ += ", \"cbid\": 211, \"correlation\": ";
    Number(correlation_);
    text_ += "}}";
    FlowPoint("s", 4711, tid, begin_ns, correlation_);
  }

  // An end of the arrow from a call to what it started.
  void FlowPoint(std::string_view phase, int pid, int tid, int64_t time_ns, int64_t correlation) {
    text_ += ",\n{\"ph\": \"";
    text_ += phase;
    text_ += "\", \"id\": ";
    Number(correlation);
    text_ += ", \"pid\": ";
    Number(pid);
    text_ += ", \"tid\": ";
    Number(tid);
    text_ += ", \"ts\": ";
    Microseconds(time_ns);
    text_ += ", \"cat\": \"ac2g\", \"name\": \"ac2g\"";
    text_ += phase == "f" ? ", \"bp\": \"e\"}" : "}";
  }

  // An operator, in it another one, in that a call, which starts a kernel. Returns when it ends.
  int64_t Nested(size_t at, int tid, int64_t begin_ns) {
    const int64_t call_ns = 3'000 + static_cast<int64_t>(Pick(4'000));
    const int64_t before_ns = 1'000 + static_cast<int64_t>(Pick(3'000));
    const int64_t end_ns = begin_ns + 4 * before_ns + call_ns;
    Operator(operators_[at % operators_.size()], tid, begin_ns, end_ns);
    Operator(operators_[(at + 1) % operators_.size()], tid, begin_ns + before_ns, end_ns - before_ns);
    if (at % 7 == 0) {
      Call("cudaMemcpyAsync", tid, begin_ns + 2 * before_ns, begin_ns + 2 * before_ns + call_ns, kCopies, at);
    } else {
      Call("cudaLaunchKernel", tid, begin_ns + 2 * before_ns, begin_ns + 2 * before_ns + call_ns,
           at % 31 == 5 ? kCollectives : kCompute, (at * 7 + Pick(3)) % kernels_.size());
    }
    return end_ns;
  }

  void WriteStep(int64_t step) {
    const int64_t begin_ns = now_ns_;
    // What holds others is written before them: how long it lasts is known by a look ahead with the same numbers.
    const std::mt19937_64 before = random_;
    const int64_t external_id = external_id_;
    const int64_t correlation = correlation_;
    const int64_t left = left_;
    left_ = 0;
    const std::vector<int64_t> ends = WriteLayers(begin_ns + 5'000, 4711, {});
    random_ = before;
    external_id_ = external_id;
    correlation_ = correlation;
    left_ = left;
    launches_.clear();
    const int64_t backward_ns = ends.back() + 20'000;
    if (Slice("user_annotation", "ProfilerStep#" + std::to_string(step % 10'000), 4711, 4711, begin_ns,
              backward_ns + 400'000)) {
      text_ += "}";
    }
    WriteLayers(begin_ns + 5'000, 4711, ends);
    const int64_t end_ns = std::max(WriteLayers(backward_ns, 4712, {}).back(), backward_ns + 410'000);
    WriteLoader(begin_ns, end_ns);
    WriteStreams();
    WriteAllocations(begin_ns, end_ns);
    WriteCounters(begin_ns, end_ns);
    now_ns_ = end_ns + 50'000;
  }

  // When each layer ends. `ends`: the same, where each is a module of its own.
  std::vector<int64_t> WriteLayers(int64_t at_ns, int tid, const std::vector<int64_t>& ends) {
    std::vector<int64_t> ended;
    for (int layer = 0; layer < kLayers; ++layer) {
      if (!ends.empty()) {
        Operator("nn.Module: TransformerLayer_" + std::to_string(layer), tid, at_ns, ends[static_cast<size_t>(layer)]);
      } else {
        ++external_id_;
      }
      for (size_t i = 0; i < 9; ++i) at_ns = Nested(static_cast<size_t>(layer) * 3 + i * 2, tid, at_ns + 500) + 200;
      ended.push_back(at_ns);
      at_ns += 1'000;
    }
    return ended;
  }

  void WriteLoader(int64_t begin_ns, int64_t end_ns) {
    for (int64_t at_ns = begin_ns; at_ns + 100'000 < end_ns; at_ns += 250'000) {
      Operator("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", 4800, at_ns, at_ns + 90'000);
    }
  }

  void WriteStreams() {
    for (const int stream : {kCompute, kCollectives, kCopies}) {
      int64_t& free_ns = stream == kCompute ? compute_ns_ : stream == kCollectives ? collectives_ns_ : copies_ns_;
      for (const Launch& launch : launches_) {
        if (launch.stream != stream) continue;
        const int64_t begin_ns = std::max(free_ns + 700, launch.time_ns + 4'000);
        const auto length_ns = static_cast<int64_t>(2'000 + Pick(6'000));
        free_ns = begin_ns + length_ns;
        if (stream == kCopies) {
          WriteCopy(launch, begin_ns, free_ns);
        } else {
          WriteKernel(launch, begin_ns, free_ns);
        }
      }
    }
    launches_.clear();
  }

  void WriteCopy(const Launch& launch, int64_t begin_ns, int64_t end_ns) {
    if (!Slice("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 0, launch.stream, begin_ns, end_ns)) return;
    text_ += ", \"args\": {\"External id\": ";
    Number(launch.external_id);
    text_ += ", \"device\": 0, \"context\": 1, \"stream\": ";
    Number(launch.stream);
    text_ += ", \"correlation\": ";
    Number(launch.correlation);
    text_ += ", \"bytes\": ";
    Number(static_cast<int64_t>(Pick(1 << 22)));
    text_ += "}}";
    FlowPoint("f", 0, launch.stream, begin_ns, launch.correlation);
  }

  void WriteKernel(const Launch& launch, int64_t begin_ns, int64_t end_ns) {
    const std::string_view name = launch.stream == kCollectives
                                      ? "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
                                      : std::string_view(kernels_[launch.name]);
    if (!Slice("kernel", name, 0, launch.stream, begin_ns, end_ns)) return;
    text_ += ", \"args\": {\"External id\": ";
    Number(launch.external_id);
    text_ += ", \"queued\": 0, \"device\": 0, \"context\": 1, \"stream\": ";
    Number(launch.stream);
    text_ += ", \"correlation\": ";
    Number(launch.correlation);
    text_ += ", \"registers per thread\": ";
    Number(static_cast<int64_t>(32 + 8 * (launch.name % 24)));
    text_ += ", \"shared memory\": ";
    Number(static_cast<int64_t>(1024 * (launch.name % 96)));
    text_ += ", \"grid\": [";
    Number(static_cast<int64_t>(1 + launch.name % 512));
    text_ += ", 1, 1], \"block\": [128, 1, 1], \"est. achieved occupancy %\": ";
    Number(static_cast<int64_t>(Pick(100)));
    text_ += "}}";
    FlowPoint("f", 0, launch.stream, begin_ns, launch.correlation);
  }

  void WriteAllocations(int64_t begin_ns, int64_t end_ns) {
    for (int64_t at_ns = begin_ns; at_ns < end_ns && left_ > 0; at_ns += 40'000 + static_cast<int64_t>(Pick(20'000))) {
      text_ +=
          ",\n{\"ph\": \"i\", \"cat\": \"cpu_instant_event\", \"s\": \"t\", \"name\": \"[memory]\", \"pid\": 4711, ";
      text_ += "\"tid\": 4711, \"ts\": ";
      Microseconds(at_ns);
      text_ += ", \"args\": {\"Device Type\": 1, \"Device Id\": 0, \"Bytes\": ";
      Number(static_cast<int64_t>(512 << Pick(16)));
      text_ += "}}";
    }
  }

  void WriteCounters(int64_t begin_ns, int64_t end_ns) {
    for (int64_t at_ns = begin_ns; at_ns < end_ns && left_ > 0; at_ns += 100'000) {
      power_ += static_cast<int64_t>(Pick(21)) - 10;
      power_ = std::max<int64_t>(90, std::min<int64_t>(power_, 700));
      text_ += ",\n{\"ph\": \"C\", \"name\": \"GPU 0 power\", \"pid\": 0, \"ts\": ";
      Microseconds(at_ns);
      text_ += ", \"args\": {\"W\": ";
      Number(power_);
      text_ += "}},\n{\"ph\": \"C\", \"name\": \"GPU 0 memory\", \"pid\": 0, \"ts\": ";
      Microseconds(at_ns);
      text_ += ", \"args\": {\"MiB\": ";
      Number(static_cast<int64_t>(20'000 + Pick(4'000)));
      text_ += "}}";
    }
  }

  int64_t left_;
  std::mt19937_64 random_;
  std::vector<std::string> kernels_;
  std::vector<std::string> operators_;
  std::string text_;
  std::vector<Launch> launches_;
  int64_t now_ns_ = kFirstNs;
  int64_t external_id_ = 0;
  int64_t correlation_ = 0;
  int64_t compute_ns_ = 0;  // when each stream is free, here and below
  int64_t collectives_ns_ = 0;
  int64_t copies_ns_ = 0;
  int64_t power_ = 400;
};

}  // namespace

int main(int count, char** arguments) {
  int64_t slices = 0;
  uint64_t seed = 1;
  for (int i = 1; i + 1 < count; i += 2) {
    if (std::strcmp(arguments[i], "--slices") == 0) slices = std::atoll(arguments[i + 1]);
    if (std::strcmp(arguments[i], "--seed") == 0) seed = std::strtoull(arguments[i + 1], nullptr, 10);
  }
  if (slices < 1 || count % 2 == 0) {
    std::fprintf(stderr, "usage: make_long_trace --slices COUNT [--seed NUMBER]\n");
    return 2;
  }
  Writer(slices, seed).WriteAll();
  return 0;
}

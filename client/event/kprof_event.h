// Times code from within and reports it to `kprofctl capture event`, over the pipe that $KPROF_EVENT names;
// docs/event.md has its lines. One header, C++17, libc and libdl (-ldl before glibc 2.34). Without kprofd it prints a
// line for each case.
//
//     kprof::Event event("n=4096");
//     event.Flops(2.0 * n * n * n).Bytes(12.0 * n * n);
//     event.Time([&] { Multiply(a, b, c); });                                     // by the host's clock
//     event.OnCuda(stream, /*cold=*/true).Time([&] { Multiply<<<...>>>(...); });  // by CUDA events
//     if (!Same(c, expected)) event.CheckFailed("c differs from the reference");
//
// The times are this process's word: it times itself, and kprofd holds its own wall time against them. A candidate that
// is not trusted belongs into kprof.event of Python, which runs it in a process of its own.
//
// CUDA: libcudart is loaded when it is needed ($KPROF_CUDART_LIBRARY names another one). A sample is one launch between
// two events. Cold: before it a buffer of exactly the size of the L2 cache is written, and no line of it persists. A
// gate holds the stream until all of a sample is queued, so that a launch does not count; code that waits for the
// device would never get there, so the gate opens by itself after 50 ms, and is left away from then on. After a sample
// the device is waited for: work that most samples left on other streams is added and noted.
#pragma once

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

namespace kprof {

inline int64_t EventNowNs() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * int64_t{1000000000} + now.tv_nsec;
}

// The text as a JSON string, cut between letters where it gets longer than `most_bytes`. Bytes that are not ASCII pass
// as they are.
inline std::string EventJsonText(const std::string& text, size_t most_bytes = 2000) {
  std::string json = "\"";
  for (const char letter : text) {
    const bool begins_letter = (static_cast<unsigned char>(letter) & 0xC0) != 0x80;
    if (begins_letter && json.size() + 6 > most_bytes) break;
    if (letter == '"' || letter == '\\') json += '\\';
    if (static_cast<unsigned char>(letter) < 0x20) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(letter));
      json += code;
    } else {
      json += letter;
    }
  }
  return json + '"';
}

inline std::string EventJsonNumber(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.10g", number);
  return text;
}

// The pipe to kprofd, opened once in a process; closed when it executes another program. Any thread.
class EventChannel {
 public:
  static EventChannel& OfProcess() {
    static EventChannel channel;
    return channel;
  }

  bool is_open() const { return fd_ >= 0; }

  // `fields`: of an object, without its braces. One write, so that lines of several threads do not mix.
  void Write(const std::string& fields) {
    const std::string line = "{" + fields + "}\n";
    if (fd_ < 0 || line.size() > 4096) return;
    ssize_t written = 0;
    do {
      written = ::write(fd_, line.data(), line.size());
    } while (written < 0 && errno == EINTR);
  }

  void Note(const std::string& code, const std::string& message) {
    Write("\"note\":" + EventJsonText(code) + ",\"message\":" + EventJsonText(message));
    if (fd_ < 0) std::fprintf(stderr, "kprof: not to be trusted: %s: %s\n", code.c_str(), message.c_str());
  }

 private:
  EventChannel() {
    const char* path = std::getenv("KPROF_EVENT");
    if (path != nullptr && *path != '\0') fd_ = ::open(path, O_WRONLY | O_CLOEXEC);
  }

  int fd_ = -1;
};

// libcudart's functions, loaded when they are first needed. `error` is empty where all are there.
struct EventCudart {
  using Handle = void*;

  static EventCudart& OfProcess() {
    static EventCudart library;
    return library;
  }

  std::string error;
  int (*EventCreate)(Handle*) = nullptr;
  int (*EventRecord)(Handle, Handle) = nullptr;
  int (*EventSynchronize)(Handle) = nullptr;
  int (*EventElapsedTime)(float*, Handle, Handle) = nullptr;
  int (*DeviceSynchronize)() = nullptr;
  int (*GetDevice)(int*) = nullptr;
  int (*DeviceGetAttribute)(int*, int, int) = nullptr;
  int (*Malloc)(Handle*, size_t) = nullptr;
  int (*Free)(Handle) = nullptr;
  int (*EventDestroy)(Handle) = nullptr;
  int (*MemsetAsync)(Handle, int, size_t, Handle) = nullptr;
  int (*DeviceSetLimit)(int, size_t) = nullptr;
  int (*CtxResetPersistingL2Cache)() = nullptr;
  int (*LaunchHostFunc)(Handle, void (*)(void*), void*) = nullptr;

 private:
  EventCudart() {
    void* library = nullptr;
    if (const char* named = std::getenv("KPROF_CUDART_LIBRARY")) {
      library = ::dlopen(named, RTLD_NOW);
    } else {
      for (const char* name : {"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0", "libcudart.so"}) {
        if (library == nullptr) library = ::dlopen(name, RTLD_NOW);
      }
    }
    if (library == nullptr) {
      error = ::dlerror();
      return;
    }
    Find(library, "cudaEventCreate", EventCreate);
    Find(library, "cudaEventRecord", EventRecord);
    Find(library, "cudaEventSynchronize", EventSynchronize);
    Find(library, "cudaEventElapsedTime", EventElapsedTime);
    Find(library, "cudaDeviceSynchronize", DeviceSynchronize);
    Find(library, "cudaGetDevice", GetDevice);
    Find(library, "cudaDeviceGetAttribute", DeviceGetAttribute);
    Find(library, "cudaMalloc", Malloc);
    Find(library, "cudaFree", Free);
    Find(library, "cudaEventDestroy", EventDestroy);
    Find(library, "cudaMemsetAsync", MemsetAsync);
    Find(library, "cudaDeviceSetLimit", DeviceSetLimit);
    Find(library, "cudaCtxResetPersistingL2Cache", CtxResetPersistingL2Cache);
    Find(library, "cudaLaunchHostFunc", LaunchHostFunc);
  }

  template <typename Function>
  void Find(void* library, const char* name, Function& function) {
    void* found = ::dlsym(library, name);
    if (found == nullptr) {
      if (error.empty()) error = std::string("libcudart has no ") + name;
      return;
    }
    std::memcpy(&function, &found, sizeof function);
  }
};

// Two events on a stream, the buffer that empties the cache, and the gate. One thread.
class CudaEventPair {
 public:
  CudaEventPair(void* stream, bool cold) : cuda_(EventCudart::OfProcess()), stream_(stream) {
    if (!cuda_.error.empty()) {
      error_ = cuda_.error;
      return;
    }
    int device = 0;
    int bytes = 0;
    if (Works(cuda_.GetDevice(&device), "cudaGetDevice") && Works(cuda_.EventCreate(&start_), "cudaEventCreate") &&
        Works(cuda_.EventCreate(&stop_), "cudaEventCreate") && cold &&
        Works(cuda_.DeviceGetAttribute(&bytes, kL2CacheSize, device), "cudaDeviceGetAttribute") && bytes > 0 &&
        Works(cuda_.Malloc(&buffer_, static_cast<size_t>(bytes)), "cudaMalloc")) {
      bytes_ = static_cast<size_t>(bytes);
    }
  }
  ~CudaEventPair() {
    if (start_ != nullptr) cuda_.DeviceSynchronize();  // the gate is in here
    if (buffer_ != nullptr) cuda_.Free(buffer_);
    if (start_ != nullptr) cuda_.EventDestroy(start_);
    if (stop_ != nullptr) cuda_.EventDestroy(stop_);
  }
  CudaEventPair(const CudaEventPair&) = delete;
  CudaEventPair& operator=(const CudaEventPair&) = delete;

  // Empty: all worked so far.
  const std::string& error() const { return error_; }
  // How long the device still worked after the stop event of the last sample, as far as the host could see it.
  double longer_ns() const { return longer_ns_; }

  // The time of the code on the device; 0 after an error, and where the gate had to open by itself: take it again.
  template <typename Code>
  double SampleNs(Code& code) {
    if (bytes_ > 0) {
      cuda_.DeviceSetLimit(kPersistingL2Size, 0);  // devices without such lines refuse it
      cuda_.CtxResetPersistingL2Cache();
      Works(cuda_.MemsetAsync(buffer_, 0, bytes_, stream_), "cudaMemsetAsync");
    }
    if (!Works(cuda_.DeviceSynchronize(), "cudaDeviceSynchronize")) return 0;
    gate_state_ = kShut;
    const bool with_gate = may_use_gate_ && cuda_.LaunchHostFunc(stream_, WaitAtGate, this) == 0;
    const bool started = Works(cuda_.EventRecord(start_, stream_), "cudaEventRecord");
    code();
    const bool stopped = Works(cuda_.EventRecord(stop_, stream_), "cudaEventRecord");
    const bool was_shut = gate_state_.exchange(kOpen) == kShut;
    if (!started || !stopped || !Works(cuda_.EventSynchronize(stop_), "cudaEventSynchronize")) return 0;
    const int64_t stopped_ns = EventNowNs();
    if (!Works(cuda_.DeviceSynchronize(), "cudaDeviceSynchronize")) return 0;
    longer_ns_ = static_cast<double>(EventNowNs() - stopped_ns);
    if (with_gate && !was_shut) {
      may_use_gate_ = false;
      return 0;
    }
    float ms = 0;
    if (!Works(cuda_.EventElapsedTime(&ms, start_, stop_), "cudaEventElapsedTime")) return 0;
    return static_cast<double>(ms) * 1e6;
  }

 private:
  static constexpr int kL2CacheSize = 38;      // cudaDevAttrL2CacheSize
  static constexpr int kPersistingL2Size = 6;  // cudaLimitPersistingL2CacheSize
  static constexpr int64_t kMostGateNs = 50000000;
  enum { kShut, kOpen, kGivenUp };

  static void WaitAtGate(void* pair) {
    auto& gate = static_cast<CudaEventPair*>(pair)->gate_state_;
    const int64_t until_ns = EventNowNs() + kMostGateNs;
    while (gate == kShut && EventNowNs() < until_ns) {
    }
    int shut = kShut;
    gate.compare_exchange_strong(shut, kGivenUp);
  }

  bool Works(int code, const char* what) {
    if (code != 0 && error_.empty()) error_ = std::string(what) + " failed with code " + std::to_string(code);
    return code == 0;
  }

  EventCudart& cuda_;
  void* stream_;
  void* start_ = nullptr;
  void* stop_ = nullptr;
  void* buffer_ = nullptr;
  size_t bytes_ = 0;
  std::string error_;
  std::atomic<int> gate_state_{kOpen};
  bool may_use_gate_ = true;
  double longer_ns_ = 0;
};

// One case of what is timed. One thread.
class Event {
 public:
  // `name`: at most 200 bytes; empty: the only case.
  explicit Event(std::string name = "") : name_(std::move(name)) {
    const char* told = std::getenv("KPROF_EVENT_SAMPLES");
    const int64_t samples = told == nullptr ? 0 : std::strtoll(told, nullptr, 10);
    if (samples > 0) samples_ = samples;
  }

  // The work of one sample, not measured.
  Event& Flops(double flops) { return Set(flops_, flops); }
  Event& Bytes(double bytes) { return Set(bytes_, bytes); }
  // Default: as many samples as kprofd asks for, else 100; 3 calls before the first one.
  Event& Samples(int64_t samples) { return Set(samples_, samples); }
  Event& WarmUp(int64_t calls) { return Set(warm_up_, calls); }
  // By CUDA events on that stream, in place of the host's clock.
  Event& OnCuda(void* stream = nullptr, bool cold = true) {
    stream_ = stream;
    is_cold_ = cold;
    return Set(is_on_cuda_, true);
  }

  // Calls `code` and reports a sample for each call after the warm-up. False: nothing came of it, and standard error
  // says why.
  template <typename Code>
  bool Time(Code&& code) {
    std::vector<double> all;
    if (is_on_cuda_ ? !TimeOnCuda(code, all) : !TimeOnHost(code, all)) return false;
    if (!EventChannel::OfProcess().is_open()) Print(all);
    return true;
  }

  // Outputs are wrong: the run fails.
  void CheckFailed(const std::string& message) const {
    EventChannel::OfProcess().Write("\"check\":\"failed\",\"message\":" + EventJsonText(message) + CaseField());
    if (!EventChannel::OfProcess().is_open()) std::fprintf(stderr, "kprof: wrong outputs: %s\n", message.c_str());
  }
  // So many outputs were compared, and are right.
  void CheckPassed(int64_t checked) const {
    EventChannel::OfProcess().Write("\"check\":\"passed\",\"checked\":" + std::to_string(checked));
  }

 private:
  template <typename Member, typename Value>
  Event& Set(Member& member, Value value) {
    member = value;
    return *this;
  }

  std::string CaseField() const { return name_.empty() ? "" : ",\"case\":" + EventJsonText(name_, 200); }

  template <typename Code>
  bool TimeOnHost(Code& code, std::vector<double>& all) {
    for (int64_t call = -warm_up_; call < samples_; ++call) {
      const int64_t start_ns = EventNowNs();
      code();
      const double ns = static_cast<double>(std::max<int64_t>(EventNowNs() - start_ns, 1));
      if (call >= 0) Report(all, ns, "");
    }
    return true;
  }

  struct CudaSample {
    double ns, longer_ns;
    int64_t wall_ns;
    // The device still worked when the timed stream was done. A host that waits for a CPU sees that sometimes, too.
    bool is_longer() const { return longer_ns > 50000 + ns / 20; }
  };

  template <typename Code>
  bool TimeOnCuda(Code& code, std::vector<double>& all) {
    CudaEventPair events(stream_, is_cold_);
    std::vector<CudaSample> samples;
    int64_t nothing_in_a_row = 0;
    for (int64_t call = -warm_up_; call < samples_ && nothing_in_a_row < 3 && events.error().empty();) {
      const int64_t start_ns = EventNowNs();
      const double ns = events.SampleNs(code);
      const int64_t wall_ns = EventNowNs() - start_ns;
      nothing_in_a_row = ns > 0 ? 0 : nothing_in_a_row + 1;
      if (ns > 0 && call++ >= 0) samples.push_back({ns, events.longer_ns(), wall_ns});
    }
    if (!events.error().empty() || nothing_in_a_row > 0) {
      std::fprintf(stderr, "kprof: time %s by CUDA events: %s\n", name_.c_str(),
                   events.error().empty() ? "no time passed between them" : events.error().c_str());
      return false;
    }
    const auto longer =
        std::count_if(samples.begin(), samples.end(), [](const CudaSample& one) { return one.is_longer(); });
    const bool has_other_streams = 2 * longer > static_cast<int64_t>(samples.size());
    for (const CudaSample& one : samples) {
      Report(all, one.ns + (has_other_streams ? one.longer_ns : 0),
             std::string(is_cold_ ? ",\"cache\":\"cold\"" : ",\"cache\":\"hot\"") + ",\"wall_ns\":" +
                 std::to_string(one.wall_ns) + (has_other_streams ? ",\"stream_count\":2" : ",\"stream_count\":1"));
    }
    if (has_other_streams) {
      EventChannel::OfProcess().Note(
          "several_streams",
          "other streams still worked when the timed one was done; the time that the host saw was added");
    }
    return true;
  }

  void Report(std::vector<double>& all, double ns, const std::string& more) const {
    all.push_back(ns);
    EventChannel::OfProcess().Write("\"ns\":" + EventJsonNumber(ns) + CaseField() +
                                    (flops_ > 0 ? ",\"flops\":" + EventJsonNumber(flops_) : "") +
                                    (bytes_ > 0 ? ",\"bytes\":" + EventJsonNumber(bytes_) : "") + more);
  }

  void Print(std::vector<double>& all) const {
    std::sort(all.begin(), all.end());
    const auto at = [&all](size_t percent) { return all[(all.size() - 1) * percent / 100] / 1000; };
    std::printf("%s: %zu samples, median %.2f us, p5 %.2f, p95 %.2f\n", name_.empty() ? "-" : name_.c_str(), all.size(),
                at(50), at(5), at(95));
  }

  std::string name_;
  double flops_ = 0;
  double bytes_ = 0;
  int64_t samples_ = 100;
  int64_t warm_up_ = 3;
  bool is_on_cuda_ = false;
  bool is_cold_ = true;
  void* stream_ = nullptr;
};

}  // namespace kprof

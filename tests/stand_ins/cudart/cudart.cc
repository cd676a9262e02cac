// libcudart for tests where no GPU is: the functions that time a kernel, with their real ABI, and a device whose
// streams are threads with a queue each. A kernel is a sleep, by stand_in_launch, of which libcudart has no like. Work
// on the default stream, whose handle is 0, waits for what the others had to do when it was queued, but those that
// stand_in_launch is told not to block.
//
// KPROF_CUDART_CALLS names a file that gets a line for each call. KPROF_CUDART_STAND_IN, words with commas between,
// says what goes wrong: no_persisting (the limit is not supported), no_device.
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

namespace {

constexpr int kInvalidValue = 1;
constexpr int kNoDevice = 100;
constexpr int kUnsupportedLimit = 215;
constexpr int kL2CacheSize = 38;
constexpr int kL2Bytes = 6 << 20;
constexpr int kPersistingL2Size = 6;
constexpr int64_t kMemsetNs = 5'000;
char not_blocking = 0;
void* const kNotBlocking = &not_blocking;  // stands for all streams that do not block

int64_t NowNs() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
}

void SleepFor(int64_t ns) {
  const timespec time{ns / 1'000'000'000, ns % 1'000'000'000};
  ::clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nullptr);
}

// Does work in the order in which it came, on a thread of its own. Lives as long as the process.
class Stream {
 public:
  Stream() {
    std::thread([this] { Work(); }).detach();
  }

  // Returns how much work came so far, this included.
  int64_t Queue(std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    work_.push_back(std::move(work));
    changed_.notify_all();
    return ++came_;
  }

  int64_t came() {
    const std::lock_guard lock(mutex_);
    return came_;
  }

  void WaitUntilDone(int64_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this, count] { return done_ >= count; });
  }

 private:
  [[noreturn]] void Work() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return !work_.empty(); });
      const std::function<void()> work = std::move(work_.front());
      work_.pop_front();
      lock.unlock();
      work();
      lock.lock();
      ++done_;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> work_;
  int64_t came_ = 0;
  int64_t done_ = 0;
};

struct DeviceEvent {
  int64_t at_ns = 0;
  Stream* stream = nullptr;
  int64_t number = 0;  // of its work there
};

std::mutex mutex;

std::map<void*, Stream*>& Streams() {
  static auto& streams = *new std::map<void*, Stream*>;
  return streams;
}

// What the streams that block have to do, with that of the default one or without.
std::map<Stream*, int64_t> BlockingWork(bool with_default) {
  const std::lock_guard lock(mutex);
  std::map<Stream*, int64_t> work;
  for (const auto& [handle, stream] : Streams()) {
    if (handle != kNotBlocking && (handle != nullptr || with_default)) work[stream] = stream->came();
  }
  return work;
}

Stream& StreamOf(void* handle) {
  const std::lock_guard lock(mutex);
  Stream*& stream = Streams()[handle];
  if (stream == nullptr) stream = new Stream;
  return *stream;
}

int64_t Queue(void* handle, std::function<void()> work) {
  const auto others = handle == nullptr ? BlockingWork(false) : std::map<Stream*, int64_t>();
  return StreamOf(handle).Queue([others, work = std::move(work)] {
    for (const auto& [stream, count] : others) stream->WaitUntilDone(count);
    work();
  });
}

bool Fails(const char* word) {
  const char* words = std::getenv("KPROF_CUDART_STAND_IN");
  return words != nullptr && std::strstr(words, word) != nullptr;
}

void Log(const char* call, int64_t number = -1) {
  const char* path = std::getenv("KPROF_CUDART_CALLS");
  if (path == nullptr) return;
  if (std::FILE* file = std::fopen(path, "ae")) {
    if (number < 0) {
      std::fprintf(file, "%s\n", call);
    } else {
      std::fprintf(file, "%s %lld\n", call, static_cast<long long>(number));
    }
    std::fclose(file);
  }
}

}  // namespace

extern "C" {

const char* cudaGetErrorString(int code) {
  return code == kNoDevice           ? "no CUDA-capable device is detected"
         : code == kUnsupportedLimit ? "limit is not supported"
                                     : "invalid argument";
}

int cudaGetDevice(int* device) {
  Log("GetDevice");
  *device = 0;
  return Fails("no_device") ? kNoDevice : 0;
}

int cudaDeviceGetAttribute(int* value, int attribute, int /*device*/) {
  Log("DeviceGetAttribute", attribute);
  *value = kL2Bytes;
  return attribute == kL2CacheSize ? 0 : kInvalidValue;
}

int cudaMalloc(void** memory, size_t size) {
  Log("Malloc", static_cast<int64_t>(size));
  *memory = std::malloc(size);
  return 0;
}

int cudaFree(void* memory) {
  std::free(memory);
  return 0;
}

int cudaMemsetAsync(void* /*memory*/, int /*value*/, size_t size, void* stream) {
  Log("MemsetAsync", static_cast<int64_t>(size));
  Queue(stream, [] { SleepFor(kMemsetNs); });
  return 0;
}

int cudaDeviceSetLimit(int limit, size_t value) {
  Log("DeviceSetLimit", limit);
  if (limit != kPersistingL2Size || value != 0) return kInvalidValue;
  return Fails("no_persisting") ? kUnsupportedLimit : 0;
}

int cudaCtxResetPersistingL2Cache() {
  Log("CtxResetPersistingL2Cache");
  return Fails("no_persisting") ? kUnsupportedLimit : 0;
}

int cudaEventCreate(void** event) {
  *event = new DeviceEvent;
  return 0;
}

int cudaEventDestroy(void* event) {
  delete static_cast<DeviceEvent*>(event);
  return 0;
}

int cudaEventRecord(void* event, void* stream) {
  Log("EventRecord");
  auto* recorded = static_cast<DeviceEvent*>(event);
  recorded->stream = &StreamOf(stream);
  recorded->number = Queue(stream, [recorded] { recorded->at_ns = NowNs(); });
  return 0;
}

int cudaEventSynchronize(void* event) {
  Log("EventSynchronize");
  const auto* recorded = static_cast<DeviceEvent*>(event);
  recorded->stream->WaitUntilDone(recorded->number);
  return 0;
}

int cudaEventElapsedTime(float* ms, void* start, void* stop) {
  *ms = static_cast<float>(static_cast<DeviceEvent*>(stop)->at_ns - static_cast<DeviceEvent*>(start)->at_ns) / 1e6F;
  return 0;
}

int cudaDeviceSynchronize() {
  Log("DeviceSynchronize");
  for (const auto& [stream, count] : BlockingWork(true)) stream->WaitUntilDone(count);
  StreamOf(kNotBlocking).WaitUntilDone(StreamOf(kNotBlocking).came());
  return 0;
}

int cudaLaunchHostFunc(void* stream, void (*function)(void*), void* data) {
  Log("LaunchHostFunc");
  Queue(stream, [function, data] { function(data); });
  return 0;
}

// A kernel of that length.
void stand_in_launch(void* stream, int64_t ns, int does_block) {
  Log("launch");
  Queue(does_block != 0 ? stream : kNotBlocking, [ns] { SleepFor(ns); });
}

}  // extern "C"

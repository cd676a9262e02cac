// time_itself host|cold|hot|streams|waits|wrong: times a piece of code with client/event/kprof_event.h, as a program of
// a user's would. All but `host` and `wrong` need the stand-in of libcudart: it names the function that lasts.
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "client/event/kprof_event.h"

namespace {

constexpr int64_t kKernelNs = 2'000'000;

using Launch = void (*)(void* stream, int64_t ns, int does_block);
using Synchronize = int (*)();

template <typename Function>
Function Find(const char* name) {
  const char* path = std::getenv("KPROF_CUDART_LIBRARY");
  void* library = path == nullptr ? nullptr : ::dlopen(path, RTLD_NOW);
  void* found = library == nullptr ? nullptr : ::dlsym(library, name);
  Function function = nullptr;
  std::memcpy(&function, &found, sizeof function);
  return function;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "host";
  kprof::Event event("a \"case\"\n");
  event.Flops(1e6).Bytes(4096);
  if (how == "host" || how == "wrong") {
    volatile int64_t sum = 0;
    const bool timed = event.Time([&sum] {
      for (int64_t number = 0; number < 100'000; ++number) sum = sum + number;
    });
    if (how == "wrong") {
      event.CheckFailed("the sum is wrong");
    } else {
      event.CheckPassed(1);
    }
    return timed ? 0 : 1;
  }
  const auto launch = Find<Launch>("stand_in_launch");
  const auto synchronize = Find<Synchronize>("cudaDeviceSynchronize");
  event.OnCuda(nullptr, how != "hot");
  const bool timed = event.Time([&] {
    if (launch == nullptr) return;
    launch(nullptr, kKernelNs, 1);
    if (how == "streams") launch(&event, 2 * kKernelNs, 0);
    if (how == "waits") synchronize();
  });
  return timed ? 0 : 1;
}

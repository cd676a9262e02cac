// kprof-device: one NVIDIA device, through a library that may hang or crash, and then takes along this process alone.
// Started by kprofd with a socket and a page (nvidia_protocol.h); its one argument is the library's path, or empty.
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <utility>

#include "daemon/devices/nvidia/nvidia_worker.h"

namespace kprof {
namespace {

int Main(int argc, char** argv) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // where it hangs, it does not hear that its socket has ended
  ::signal(SIGPIPE, SIG_IGN);
  UniqueFd channel(kDeviceChannelFd);
  Result<CallPage> page = CallPage::Map(UniqueFd(kDevicePageFd));
  if (argc != 2 || !page.ok()) {
    std::fputs("kprof-device: kprofd starts it, nobody else\n", stderr);
    return ExitStatusOf(ErrorCode::kUsage);
  }
  NvidiaWorker(argv[1], std::move(channel), *std::move(page)).Run();
  // At once: a thread waits in the driver, and the library's own end may hang.
  ::_exit(0);
}

}  // namespace
}  // namespace kprof

int main(int argc, char** argv) {
  return kprof::Main(argc, argv);
}

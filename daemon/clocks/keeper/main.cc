// kprof-clocks: holds the clocks of one NVIDIA device for kprofd, and gives them back when kprofd wants it, or is gone.
// Started with a socket and a page (keeper_protocol.h) by whoever has the right to set clocks: kprofd itself in user
// mode, kprofd-helper in system mode. Its arguments: NVML's path or nothing, the folder of what is held, the device's
// uuid, the boot's id.
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <utility>

#include "daemon/clocks/keeper/keeper_server.h"
#include "daemon/devices/nvidia/nvidia_protocol.h"
#include "storage/base/files.h"

namespace kprof {
namespace {

// A signal asks for the end, which is not at once: first the clocks are given back.
Result<UniqueFd> BlockSignals() {
  sigset_t ends;
  sigemptyset(&ends);
  for (const int end : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&ends, end);
  ::sigprocmask(SIG_BLOCK, &ends, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  UniqueFd fd(::signalfd(-1, &ends, SFD_CLOEXEC));
  if (!fd.valid()) return FailErrno(errno, "watch for signals");
  return fd;
}

int Complain(const Status& status) {
  std::fprintf(stderr, "kprof-clocks: %s\n", status.ToString().c_str());
  return ExitStatusOf(status.code());
}

int Main(int argc, char** argv) {
  ::umask(077);
  UniqueFd channel(kDeviceChannelFd);
  Result<CallPage> page = CallPage::Map(UniqueFd(kDevicePageFd));
  if (argc != 5 || !page.ok() || !IsDeviceUuid(argv[3])) {
    std::fputs("kprof-clocks: kprofd starts it, nobody else\n", stderr);
    return ExitStatusOf(ErrorCode::kUsage);
  }
  Result<UniqueFd> signals = BlockSignals();
  if (!signals.ok()) return Complain(signals.status());
  std::unique_ptr<Files> files = MakePosixFiles();
  KeeperServer server({argv[1], argv[2], argv[3], argv[4]}, *files, std::move(channel), *std::move(signals),
                      *std::move(page));
  const Status over = server.Run();
  const int exit_status = over.ok() ? 0 : Complain(over);
  // At once: the library's own end may hang.
  ::_exit(exit_status);
}

}  // namespace
}  // namespace kprof

int main(int argc, char** argv) {
  return kprof::Main(argc, argv);
}

// kprof-pause: holds the pause of what else profiles on this node, DCGM, for kprofd, and resumes it when kprofd wants
// it, is gone, or too much time has passed. Started with a socket and a page (keeper_protocol.h) by kprofd. Its
// arguments: the path of DCGM's library or nothing, where dcgmi is looked for before PATH or nothing, the folder of
// what is held, the boot's id.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

#include "daemon/clocks/keeper/keeper_life.h"
#include "daemon/clocks/keeper/pause_keeper.h"
#include "daemon/devices/nvidia/nvidia_protocol.h"
#include "storage/base/files.h"

namespace kprof {
namespace {

int Complain(const Status& status) {
  std::fprintf(stderr, "kprof-pause: %s\n", status.ToString().c_str());
  return ExitStatusOf(status.code());
}

int Main(int argc, char** argv) {
  ::umask(077);
  UniqueFd channel(kDeviceChannelFd);
  Result<CallPage> page = CallPage::Map(UniqueFd(kDevicePageFd));
  if (argc != 5 || !page.ok()) {
    std::fputs("kprof-pause: kprofd starts it, nobody else\n", stderr);
    return ExitStatusOf(ErrorCode::kUsage);
  }
  Result<UniqueFd> signals = BlockEndSignals();
  if (!signals.ok()) return Complain(signals.status());
  std::unique_ptr<Files> files = MakePosixFiles();
  KeptPause pause({argv[1], argv[2], argv[3], argv[4]}, *files, *std::move(page));
  const Status over = KeeperLife(pause, std::move(channel), *std::move(signals)).Run();
  const int exit_status = over.ok() ? 0 : Complain(over);
  // At once: the library's own end may hang.
  ::_exit(exit_status);
}

}  // namespace
}  // namespace kprof

int main(int argc, char** argv) {
  return kprof::Main(argc, argv);
}

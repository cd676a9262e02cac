// kprof-clocks: holds the clocks of one NVIDIA device for kprofd, and gives them back when kprofd wants it, or is gone.
// Started with a socket and a page (keeper_protocol.h) by whoever has the right to set clocks: kprofd itself in user
// mode, kprofd-helper in system mode. Its arguments: NVML's path or nothing, the folder of what is held, the device's
// uuid, the boot's id; then perhaps --unwatched: nobody else can end it when a call hangs; or --pipe: the same, and the
// socket and the page are its standard input and output, as systemd-run hands them on.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <string_view>
#include <utility>

#include "daemon/clocks/keeper/clock_keeper.h"
#include "daemon/clocks/keeper/keeper_life.h"
#include "daemon/devices/nvidia/nvidia_protocol.h"
#include "daemon/process/helper_client/helper_protocol.h"
#include "storage/base/files.h"

namespace kprof {
namespace {

int Complain(const Status& status) {
  std::fprintf(stderr, "kprof-clocks: %s\n", status.ToString().c_str());
  return ExitStatusOf(status.code());
}

// Out of the way of a vendor's library that prints.
UniqueFd TakeStandard(int standard) {
  UniqueFd taken(::fcntl(standard, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  ::dup2(null.get(), standard);
  return taken;
}

int Main(int argc, char** argv) {
  ::umask(077);
  const std::string_view way = argc == 6 ? argv[5] : "";
  const bool is_piped = way == "--pipe";
  const bool is_unwatched = is_piped || way == "--unwatched";
  UniqueFd channel = is_piped ? TakeStandard(STDIN_FILENO) : UniqueFd(kDeviceChannelFd);
  Result<CallPage> page = CallPage::Map(is_piped ? TakeStandard(STDOUT_FILENO) : UniqueFd(kDevicePageFd));
  if ((argc != 5 && !is_unwatched) || !page.ok() || !IsDeviceUuid(argv[3])) {
    std::fputs("kprof-clocks: kprofd starts it, nobody else\n", stderr);
    return ExitStatusOf(ErrorCode::kUsage);
  }
  Result<UniqueFd> signals = BlockEndSignals();
  if (!signals.ok()) return Complain(signals.status());
  std::unique_ptr<Files> files = MakePosixFiles();
  KeptClocks clocks({argv[1], argv[2], argv[3], argv[4], is_unwatched}, *files, *std::move(page));
  const Status over = KeeperLife(clocks, std::move(channel), *std::move(signals)).Run();
  const int exit_status = over.ok() ? 0 : Complain(over);
  // At once: the library's own end may hang.
  ::_exit(exit_status);
}

}  // namespace
}  // namespace kprof

int main(int argc, char** argv) {
  return kprof::Main(argc, argv);
}

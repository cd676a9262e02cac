#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>

#include "client/cli/kprofctl.h"
#include "storage/base/descriptors.h"
#include "storage/base/status.h"

namespace {

// Before main(), and before the constructors of the libraries that we are linked with: gRPC opens a descriptor in one.
void BeforeAllElse(int /*argc*/, char** /*argv*/, char** /*environment*/) {
  if (!kprof::OccupyClosedDescriptors()) ::_exit(kprof::ExitStatusOf(kprof::ErrorCode::kInternal));
}
__attribute__((section(".preinit_array"), used)) void (*const before_all_else)(int, char**, char**) = BeforeAllElse;

}  // namespace

int main(int argc, char** argv) {
  // A reader that goes away must not end a capture; output.h deals with it.
  std::signal(SIGPIPE, SIG_IGN);
  int exit_status = 0;
  {
    kprof::cli::Output output(STDOUT_FILENO, STDERR_FILENO);
    exit_status = kprof::cli::RunKprofctl(std::vector<std::string>(argv + 1, argv + argc), output);
  }
  // Everything is written. What gRPC's own threads would still tidy up, the kernel does faster.
  ::_exit(exit_status);
}

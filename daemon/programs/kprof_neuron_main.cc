// kprof-neuron: asks what there is of Neuron devices, by their tools and the driver's files. Started by kprofd with a
// socket and a page (neuron_protocol.h); its arguments are the folder of the tools, or empty, the driver's tree in
// sysfs, or empty for the usual one, a folder for what neuron-monitor is told, and the chip by the configuration, or
// empty.
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <utility>

#include "daemon/devices/neuron/neuron_worker.h"

namespace kprof {
namespace {

int Main(int argc, char** argv) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // where it hangs, it does not hear that its socket has ended
  ::signal(SIGPIPE, SIG_IGN);
  UniqueFd channel(kNeuronChannelFd);
  Result<CallPage> page = CallPage::Map(UniqueFd(kNeuronPageFd));
  if (argc != 5 || !page.ok()) {
    std::fputs("kprof-neuron: kprofd starts it, nobody else\n", stderr);
    return ExitStatusOf(ErrorCode::kUsage);
  }
  NeuronWorker::Places places;
  places.tools.folder = argv[1];
  for (char** variable = environ; *variable != nullptr; ++variable) places.tools.environment.emplace_back(*variable);
  places.tree = *argv[2] == '\0' ? kNeuronSysfsRoot : argv[2];
  places.config_folder = argv[3];
  places.chip = argv[4];
  NeuronWorker(std::move(places), std::move(channel), *std::move(page)).Run();
  return 0;
}

}  // namespace
}  // namespace kprof

int main(int argc, char** argv) {
  return kprof::Main(argc, argv);
}

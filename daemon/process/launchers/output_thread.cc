#include "daemon/process/launchers/output_thread.h"

#include <pthread.h>

namespace kprof {

OutputThread::OutputThread(IoLoop& home) : loop_(home.clock()), intake_(loop_, home) {
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "kprofd-output");
    loop_.Run();
  });
}

OutputThread::~OutputThread() {
  loop_.Stop();
  thread_.join();
}

}  // namespace kprof

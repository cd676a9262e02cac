#include "daemon/helper/listen_when_free.h"

#include <chrono>
#include <thread>

#include "storage/base/packet_socket.h"

namespace kprof {

Result<UniqueFd> ListenWhenFree(const std::string& path, const std::function<Result<UniqueFd>()>& listen) {
  constexpr int kAttempts = 30;
  constexpr std::chrono::milliseconds kPause{100};
  for (int attempt = 1; attempt < kAttempts; ++attempt) {
    Result<UniqueFd> listener = listen();
    if (listener.ok()) return listener;
    // Nobody is there, or not any more.
    if (!ConnectPacketSocket(path).ok()) break;
    std::this_thread::sleep_for(kPause);
  }
  return listen();
}

}  // namespace kprof

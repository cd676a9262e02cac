// How long the calls of one remote client take while 10,000 connections are attempted by others: ones that say nothing,
// that are not TLS, that show no certificate, and one of a foreign authority. hostile_tls.py starts it.
//
//   bench_hostile_tls HOST:PORT CA CERTIFICATE KEY FOREIGN_CERTIFICATE FOREIGN_KEY
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "client/cpp/kprof_client.h"
#include "tests/fakes/tls/raw_tls_client.h"

namespace kprof {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kAttempts = 10'000;
constexpr int kAttackers = 4;
constexpr int kQuietCalls = 3000;

std::string ReadText(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void Print(const char* name, std::vector<double> ms, int failed) {
  if (ms.empty()) return;
  std::sort(ms.begin(), ms.end());
  auto at = [&](double part) {
    return ms[std::min(ms.size() - 1, static_cast<size_t>(part * static_cast<double>(ms.size())))];
  };
  std::printf("%s: p50 %.2f ms, p99 %.2f ms, most %.2f ms (%zu calls, %d failed)\n", name, at(0.5), at(0.99), ms.back(),
              ms.size(), failed);
}

void MeasureWhile(const char* name, KprofClient& client, const std::function<bool(size_t)>& goes_on) {
  std::vector<double> ms;
  int failed = 0;
  while (goes_on(ms.size())) {
    const Clock::time_point began = Clock::now();
    failed += client.GetStatus().ok() ? 0 : 1;
    ms.push_back(std::chrono::duration<double, std::milli>(Clock::now() - began).count());
  }
  Print(name, std::move(ms), failed);
}

void Attack(uint16_t port, int kind, const RawTlsClient::Wish& foreign) {
  UniqueFd socket = ConnectTcp(port);
  if (!socket.valid()) return;
  if (kind == 1) (void)::send(socket.get(), "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 24, MSG_NOSIGNAL);
  if (kind == 2) RawTlsClient(std::move(socket), {});
  if (kind == 3) RawTlsClient(std::move(socket), foreign);
}

int Main(char** words) {
  std::signal(SIGPIPE, SIG_IGN);
  NodeAddress address;
  if (!ParseNode(words[1], address).ok()) return 2;
  address.ca = words[2];
  address.certificate = words[3];
  address.key = words[4];
  RawTlsClient::Wish foreign;
  foreign.certificate_pem = ReadText(words[5]);
  foreign.key_pem = ReadText(words[6]);
  const auto port = static_cast<uint16_t>(std::stoi(address.port));
  auto client = KprofClient::ConnectToNode(address);
  if (!client.ok()) {
    std::fprintf(stderr, "bench_hostile_tls: %s\n", client.status().ToString().c_str());
    return 1;
  }
  MeasureWhile("quiet", **client, [](size_t calls) { return calls < kQuietCalls; });
  std::atomic<int> begun{0};
  std::atomic<int> attacking{kAttackers};
  std::vector<std::jthread> attackers;
  const Clock::time_point began = Clock::now();
  for (int i = 0; i < kAttackers; ++i) {
    attackers.emplace_back([&] {
      for (int attempt; (attempt = begun++) < kAttempts;) Attack(port, attempt % 4, foreign);
      --attacking;
    });
  }
  MeasureWhile("under attack", **client, [&](size_t) { return attacking > 0; });
  const double seconds = std::chrono::duration<double>(Clock::now() - began).count();
  std::printf("%d attempts in %.1f s\n", kAttempts, seconds);
  return 0;
}

}  // namespace
}  // namespace kprof

int main(int argc, char** argv) {
  if (argc == 7) return kprof::Main(argv);
  std::fprintf(stderr, "bench_hostile_tls HOST:PORT CA CERTIFICATE KEY FOREIGN_CERTIFICATE FOREIGN_KEY\n");
  return 2;
}

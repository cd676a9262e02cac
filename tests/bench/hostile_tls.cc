// How long the calls of one remote client take while 10,000 connections are attempted by others: ones that say nothing,
// that are not TLS or TLS 1.2 at most, that show no certificate, or each of those named. hostile_tls.py starts it.
//
//   bench_hostile_tls HOST:PORT RUN CA CERTIFICATE KEY [STRANGERS_CERTIFICATE STRANGERS_KEY]...
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

void MeasureWhile(const std::string& when, KprofClient& client, const std::string& run,
                  const std::function<bool(size_t)>& goes_on) {
  struct Asked {
    const char* name;
    std::function<bool()> ask;
    std::vector<double> ms = {};
    int failed = 0;
  };
  v1::ListRunsRequest page;
  page.set_page_size(20);
  Asked calls[] = {{"status", [&] { return client.GetStatus().ok(); }},
                   {"devices", [&] { return client.ListDevices().ok(); }},
                   {"show", [&] { return client.GetRun(run).ok(); }},
                   {"runs", [&] { return client.ListRuns(page).ok(); }}};
  for (size_t i = 0; goes_on(i); ++i) {
    Asked& call = calls[i % std::size(calls)];
    const Clock::time_point began = Clock::now();
    call.failed += call.ask() ? 0 : 1;
    call.ms.push_back(std::chrono::duration<double, std::milli>(Clock::now() - began).count());
  }
  for (Asked& call : calls) Print((when + ", " + call.name).c_str(), std::move(call.ms), call.failed);
}

// Those named attack last.
constexpr size_t kNamelessKinds = 4;

void Attack(uint16_t port, size_t kind, const std::vector<RawTlsClient::Wish>& strangers) {
  UniqueFd socket = ConnectTcp(port);
  if (!socket.valid()) return;
  if (kind == 1) (void)::send(socket.get(), "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 24, MSG_NOSIGNAL);
  if (kind == 2) RawTlsClient(std::move(socket), {});
  if (kind == 3) RawTlsClient(std::move(socket), {.most_version = TLS1_2_VERSION});
  if (kind >= kNamelessKinds) RawTlsClient(std::move(socket), strangers[kind - kNamelessKinds]);
}

int Main(int count, char** words) {
  std::signal(SIGPIPE, SIG_IGN);
  NodeAddress address;
  if (!ParseNode(words[1], address).ok()) return 2;
  const std::string run = words[2];
  address.ca = words[3];
  address.certificate = words[4];
  address.key = words[5];
  std::vector<RawTlsClient::Wish> strangers;
  for (int i = 6; i + 1 < count; i += 2) {
    strangers.push_back({.certificate_pem = ReadText(words[i]), .key_pem = ReadText(words[i + 1])});
  }
  const auto port = static_cast<uint16_t>(std::stoi(address.port));
  auto client = KprofClient::ConnectToNode(address);
  if (!client.ok()) {
    std::fprintf(stderr, "bench_hostile_tls: %s\n", client.status().ToString().c_str());
    return 1;
  }
  MeasureWhile("quiet", **client, run, [](size_t calls) { return calls < kQuietCalls; });
  std::atomic<int> begun{0};
  std::atomic<int> attacking{kAttackers};
  std::vector<std::jthread> attackers;
  const Clock::time_point began = Clock::now();
  for (int i = 0; i < kAttackers; ++i) {
    attackers.emplace_back([&] {
      for (int attempt; (attempt = begun++) < kAttempts;)
        Attack(port, static_cast<size_t>(attempt) % (kNamelessKinds + strangers.size()), strangers);
      --attacking;
    });
  }
  MeasureWhile("under attack", **client, run, [&](size_t) { return attacking > 0; });
  const double seconds = std::chrono::duration<double>(Clock::now() - began).count();
  std::printf("%d attempts in %.1f s\n", kAttempts, seconds);
  return 0;
}

}  // namespace
}  // namespace kprof

int main(int argc, char** argv) {
  if (argc >= 6 && argc % 2 == 0) return kprof::Main(argc, argv);
  std::fprintf(stderr, "bench_hostile_tls HOST:PORT RUN CA CERTIFICATE KEY [STRANGERS_CERTIFICATE STRANGERS_KEY]...\n");
  return 2;
}

#include "daemon/web/web_thread.h"

#include <pthread.h>

#include <utility>

#include "daemon/base/log.h"

namespace kprof {
namespace {

constexpr int64_t kRetryNs = 10 * kNanosPerSecond;

}  // namespace

Result<std::unique_ptr<WebThread>> WebThread::Start(const Clock& clock, const HttpAddress& address,
                                                    HttpMetrics& metrics,
                                                    const std::function<HttpRoutes(WorkerPool&)>& make_routes) {
  std::unique_ptr<WebThread> web(new WebThread(clock, address, metrics));
  web->routes_ = make_routes(web->worker_);
  RETURN_IF_ERROR(web->Listen());
  web->thread_ = std::thread([loop = &web->loop_] {
    pthread_setname_np(pthread_self(), "kprofd-web");
    loop->Run();
  });
  return web;
}

WebThread::~WebThread() {
  if (!thread_.joinable()) return;
  loop_.Post([this] {
    retry_.Cancel();
    server_.reset();
    loop_.Stop();
  });
  thread_.join();
}

Status WebThread::Listen() {
  Result<std::unique_ptr<HttpServer>> server = HttpServer::Listen(loop_, address_, routes_, metrics_);
  if (server.ok()) {
    server_ = *std::move(server);
    LogInfo("serves HTTP", {{"address", HttpAddressText(server_->address())}});
    return OkStatus();
  }
  if (server.status().code() != ErrorCode::kUsage) return server.status();
  LogWarning("serves no HTTP yet", {{"error", server.status().ToString()}});
  retry_ = loop_.After(kRetryNs, [this] {
    Status status = Listen();
    if (!status.ok()) LogError("serves no HTTP", {{"error", status.ToString()}});
  });
  return OkStatus();
}

}  // namespace kprof

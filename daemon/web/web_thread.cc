#include "daemon/web/web_thread.h"

#include <pthread.h>

#include <utility>

#include "daemon/base/log.h"

namespace kprof {

HttpHandler MetricsPage(Metrics& metrics, WorkerPool& pool) {
  return [&metrics, &pool](const HttpRequest& /*request*/, const HttpRespond& respond) {
    Status submitted = pool.Submit([&metrics, respond] {
      HttpResponse response;
      response.body = metrics.Text();
      response.content_type = Metrics::kContentType;
      respond(std::move(response));
    });
    if (!submitted.ok()) respond({.status = 503, .body = submitted.ToString() + "\n"});
  };
}

HttpHandler HealthPage(IoLoop& daemon_loop, std::function<std::string()> read_health) {
  return
      [&daemon_loop, read_health = std::move(read_health)](const HttpRequest& /*request*/, const HttpRespond& respond) {
        daemon_loop.Post([read_health, respond] {
          const std::string trouble = read_health();
          respond(trouble.empty() ? HttpResponse{.body = "ok\n"} : HttpResponse{.status = 503, .body = trouble + "\n"});
        });
      };
}

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

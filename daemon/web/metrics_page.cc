#include "daemon/web/metrics_page.h"

#include <utility>

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

}  // namespace kprof

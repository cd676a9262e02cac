#include "daemon/rpc/services/health_service.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "daemon/access/permissions.h"
#include "daemon/rpc/streams/call_record.h"
#include "daemon/rpc/streams/unary_call.h"

namespace kprof {
namespace {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

bool IsServed(const std::string& service) {
  return service.empty() || std::any_of(std::begin(kServedServices), std::end(kServedServices),
                                        [&](const char* served) { return service == served; });
}

HealthCheckResponse::ServingStatus Now(const ServingState& state) {
  return state.serving() ? HealthCheckResponse::SERVING : HealthCheckResponse::NOT_SERVING;
}

// Says how it is, and once more when that has changed; then there is nothing more to say, and it goes on until its
// client goes. All fields belong to the io loop; gRPC's reactions post to it.
class HealthWatch final : public grpc::ServerWriteReactor<HealthCheckResponse> {
 public:
  HealthWatch(CallRecord record, IoLoop& loop, ServingState& state, bool is_served)
      : loop_(loop), state_(state), is_served_(is_served), record_(std::move(record)) {
    record_.BecomeWatch();
    to_grpc_.Give();
    loop_.Post([this] { Begin(); });
  }

  void OnWriteDone(bool ok) override {
    to_grpc_.Take();
    loop_.Post([this, ok] {
      writing_ = false;
      ok ? Tell() : End(grpc::Status::CANCELLED);
    });
  }
  void OnCancel() override {
    to_grpc_.Take();
    loop_.Post([this] { End(grpc::Status::CANCELLED); });
  }
  void OnDone() override {
    to_grpc_.Take();
    loop_.Post([this] { delete this; });
  }

 private:
  ~HealthWatch() override = default;

  void Begin() {
    if (ended_) return;
    if (!record_.admitted().ok()) return End(ToGrpc(record_.admitted()));
    watch_ = state_.Watch([this] { Tell(); });
    Tell();
  }

  void Tell() {
    const auto now = is_served_ ? Now(state_) : HealthCheckResponse::SERVICE_UNKNOWN;
    if (ended_ || writing_ || message_.status() == now) return;
    message_.set_status(now);
    writing_ = true;
    StartWrite(&message_);
  }

  // Only the first one counts.
  void End(const grpc::Status& status) {
    if (std::exchange(ended_, true)) return;
    if (watch_ != 0) state_.Unwatch(watch_);
    Finish(record_.Ending(status));
  }

  IoLoop& loop_;
  ServingState& state_;
  const bool is_served_;
  CallRecord record_;
  TsanHandoff to_grpc_;          // of what the constructor made; all else is the loop's
  HealthCheckResponse message_;  // the last one; UNKNOWN before the first
  ServingState::WatchId watch_ = 0;
  bool writing_ = false;
  bool ended_ = false;
};

}  // namespace

grpc::ServerUnaryReactor* HealthServiceImpl::Check(grpc::CallbackServerContext* /*context*/,
                                                   const HealthCheckRequest* request, HealthCheckResponse* response) {
  auto* call = new UnaryCall(admission_, Rpc::kCheckHealth);
  if (call->refused()) return call;
  if (!IsServed(request->service())) {
    call->End(Fail(ErrorCode::kNotFound, "check health", "there is no service of that name here",
                   "leave the name out to ask for all of them"));
    return call;
  }
  loop_.Post([this, call, response] {
    response->set_status(Now(state_));
    call->End(OkStatus());
  });
  return call;
}

grpc::ServerWriteReactor<HealthCheckResponse>* HealthServiceImpl::Watch(grpc::CallbackServerContext* /*context*/,
                                                                        const HealthCheckRequest* request) {
  return new HealthWatch(CallRecord(admission_, Rpc::kWatchHealth), loop_, state_, IsServed(request->service()));
}

}  // namespace kprof

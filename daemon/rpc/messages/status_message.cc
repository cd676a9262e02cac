#include "daemon/rpc/messages/status_message.h"

#include "kprof/v1/error.pb.h"
#include "storage/base/readable_text.h"

namespace kprof {
namespace {

// Errors travel in trailers, twice (message and details), and gRPC drops trailers above 8 KiB with all they say.
constexpr size_t kPartLimitBytes = 600;

}  // namespace

grpc::Status ToGrpc(const Status& status) {
  if (status.ok()) return grpc::Status::OK;
  auto code = static_cast<grpc::StatusCode>(CanonicalOf(status.code()));
  const std::string what = ClippedText(status.what(), kPartLimitBytes);
  const std::string why = ClippedText(status.why(), kPartLimitBytes);
  const std::string remedy = ClippedText(status.remedy(), kPartLimitBytes);
  std::string message = what + ": " + why + (remedy.empty() ? "" : "; " + remedy);
  v1::ErrorDetail detail;
  detail.set_code(std::string(ErrorName(status.code())));
  detail.set_what(what);
  detail.set_why(why);
  detail.set_remedy(remedy);
  v1::RpcStatus wire;
  wire.set_code(code);
  wire.set_message(message);
  wire.add_details()->PackFrom(detail);
  return grpc::Status(code, message, wire.SerializeAsString());
}

}  // namespace kprof

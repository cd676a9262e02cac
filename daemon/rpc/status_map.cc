#include "daemon/rpc/status_map.h"

#include "kprof/v1/error.pb.h"
#include "storage/base/readable_text.h"

namespace kprof {

grpc::Status ToGrpc(const Status& status) {
  if (status.ok()) return grpc::Status::OK;
  auto code = static_cast<grpc::StatusCode>(CanonicalOf(status.code()));
  std::string message = ReadableText(status.ToString());
  v1::ErrorDetail detail;
  detail.set_code(std::string(ErrorName(status.code())));
  detail.set_what(ReadableText(status.what()));
  detail.set_why(ReadableText(status.why()));
  detail.set_remedy(ReadableText(status.remedy()));
  v1::RpcStatus wire;
  wire.set_code(code);
  wire.set_message(message);
  wire.add_details()->PackFrom(detail);
  return grpc::Status(code, message, wire.SerializeAsString());
}

}  // namespace kprof

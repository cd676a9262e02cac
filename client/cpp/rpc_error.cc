#include "client/cpp/rpc_error.h"

#include <array>
#include <charconv>
#include <optional>
#include <tuple>

#include "kprof/v1/error.pb.h"

namespace kprof {
namespace {

// The code of a failure whose name this build does not know: the same exit code family by the gRPC code.
ErrorCode CodeOfCanonical(CanonicalCode code) {
  switch (code) {
    case CanonicalCode::kInvalidArgument:
    case CanonicalCode::kOutOfRange:
    case CanonicalCode::kAlreadyExists:
      return ErrorCode::kUsage;
    case CanonicalCode::kUnavailable:
      return ErrorCode::kNoDaemon;
    case CanonicalCode::kNotFound:
      return ErrorCode::kNotFound;
    case CanonicalCode::kPermissionDenied:
    case CanonicalCode::kUnauthenticated:
      return ErrorCode::kNotPermitted;
    case CanonicalCode::kResourceExhausted:
      return ErrorCode::kQueueFull;
    case CanonicalCode::kAborted:
      return ErrorCode::kLeaseLost;
    case CanonicalCode::kFailedPrecondition:
      return ErrorCode::kToolFailed;
    case CanonicalCode::kDeadlineExceeded:
      return ErrorCode::kTimedOut;
    case CanonicalCode::kCancelled:
      return ErrorCode::kCancelled;
    case CanonicalCode::kDataLoss:
      return ErrorCode::kStorageBroken;
    case CanonicalCode::kOk:
    case CanonicalCode::kUnknown:
    case CanonicalCode::kUnimplemented:
    case CanonicalCode::kInternal:
      return ErrorCode::kInternal;
  }
  return ErrorCode::kInternal;
}

std::optional<v1::ErrorDetail> DetailOf(const std::string& serialized) {
  v1::RpcStatus status;
  if (serialized.empty() || !status.ParseFromString(serialized)) return std::nullopt;
  for (const google::protobuf::Any& any : status.details()) {
    v1::ErrorDetail detail;
    if (any.Is<v1::ErrorDetail>() && any.UnpackTo(&detail)) return detail;
  }
  return std::nullopt;
}

std::array<int, 3> NumbersOf(std::string_view version) {
  std::array<int, 3> numbers = {0, 0, 0};
  const char* at = version.data();
  const char* end = at + version.size();
  for (int& number : numbers) {
    auto [stop, error] = std::from_chars(at, end, number);
    if (error != std::errc() || stop == end || *stop != '.') break;
    at = stop + 1;
  }
  return numbers;
}

}  // namespace

Status StatusOfRpc(const RpcFailure& failure, const std::string& what) {
  CanonicalCode canonical = static_cast<CanonicalCode>(failure.grpc_code);
  if (std::optional<v1::ErrorDetail> detail = DetailOf(failure.details)) {
    std::optional<ErrorCode> known = ErrorCodeByName(detail->code());
    ErrorCode code = known && *known != ErrorCode::kOk ? *known : CodeOfCanonical(canonical);
    return Fail(code, detail->what().empty() ? what : detail->what(),
                detail->why().empty() ? failure.message : detail->why(), detail->remedy());
  }
  switch (canonical) {
    case CanonicalCode::kUnavailable:
      return Fail(ErrorCode::kNoDaemon, what, "the connection to kprofd was lost",
                  "see whether it still runs, and its log");
    case CanonicalCode::kDeadlineExceeded:
      // The daemon names its own time limits in a detail; without one the limit was ours.
      return Fail(ErrorCode::kNoDaemon, what, "kprofd does not answer", "see whether it is stopped, and its log");
    case CanonicalCode::kUnimplemented:
      return VersionMismatch(what, "", "");
    default:
      return Fail(CodeOfCanonical(canonical), what,
                  failure.message.empty() ? "kprofd gave no reason" : failure.message);
  }
}

bool IsDaemonsOwn(const RpcFailure& failure) {
  return DetailOf(failure.details).has_value();
}

Status VersionMismatch(const std::string& what, std::string_view daemon_version, std::string_view client_version) {
  std::string daemon = "kprofd" + (daemon_version.empty() ? "" : " " + std::string(daemon_version));
  std::string client = "this client" + (client_version.empty() ? "" : " (" + std::string(client_version) + ")");
  bool daemon_is_newer = NumbersOf(daemon_version) > NumbersOf(client_version);
  std::string remedy = daemon_is_newer ? "update the client to the daemon's version"
                                       : "update kprofd to the client's version, or use a client of the daemon's";
  return Fail(ErrorCode::kInternal, what,
              daemon + " does not know this call: it is " + (daemon_is_newer ? "newer" : "older") + " than " + client,
              remedy);
}

}  // namespace kprof

#include "storage/base/launch_request.h"

#include "storage/base/message_coder.h"

namespace kprof {

std::string EncodeLaunchRequest(const LaunchRequest& request) {
  MessageEncoder out;
  out.Add(request.argv);
  out.Add(request.environment);
  out.Add(request.cwd);
  out.Add(request.umask);
  out.Add(static_cast<uint32_t>(request.limits.size()));
  for (const ResourceLimit& limit : request.limits) {
    out.Add(limit.resource);
    out.Add(limit.soft);
    out.Add(limit.hard);
  }
  out.Add(request.output_head_bytes);
  out.Add(request.output_tail_bytes);
  out.Add(request.leftover_grace_ms);
  return out.Take();
}

Result<LaunchRequest> DecodeLaunchRequest(std::string_view bytes) {
  MessageDecoder in(bytes);
  LaunchRequest request;
  in.Read(request.argv);
  in.Read(request.environment);
  in.Read(request.cwd);
  in.Read(request.umask);
  request.limits.resize(in.ReadCount(sizeof(int32_t) + 2 * sizeof(uint64_t)));
  for (ResourceLimit& limit : request.limits) {
    in.Read(limit.resource);
    in.Read(limit.soft);
    in.Read(limit.hard);
  }
  in.Read(request.output_head_bytes);
  in.Read(request.output_tail_bytes);
  in.Read(request.leftover_grace_ms);
  if (in.Ok()) return request;
  return Fail(ErrorCode::kBadInput, "read the request of a launch", "its bytes are not in the form of this version",
              "restart kprofd");
}

}  // namespace kprof

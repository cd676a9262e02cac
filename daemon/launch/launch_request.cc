#include "daemon/launch/launch_request.h"

#include "storage/base/message_coder.h"

namespace kprof {

std::string EncodeCallersPart(const LaunchRequest& request) {
  MessageEncoder out;
  out.Add(request.tool);
  out.Add(request.options);
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
  out.Add(request.collect);
  out.Add(request.prepare);
  out.Add(request.check);
  return out.Take();
}

std::string EncodeLaunchRequest(const LaunchRequest& request) {
  MessageEncoder out;
  out.Add(request.output_head_bytes);
  out.Add(request.output_tail_bytes);
  out.Add(request.leftover_grace_ms);
  out.Add(request.most_outputs);
  out.Add(request.output_folder);
  return EncodeCallersPart(request) + out.Take();
}

namespace {

void ReadCommand(MessageDecoder& in, LaunchRequest& request) {
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
}

void ReadDaemonsPart(MessageDecoder& in, LaunchRequest& request) {
  in.Read(request.output_head_bytes);
  in.Read(request.output_tail_bytes);
  in.Read(request.leftover_grace_ms);
}

Status BadRequest() {
  return Fail(ErrorCode::kBadInput, "read the request of a launch", "its bytes are not in the form of this version",
              "restart kprofd");
}

}  // namespace

Result<LaunchRequest> DecodeLaunchRequest(std::string_view bytes) {
  MessageDecoder in(bytes);
  LaunchRequest request;
  in.Read(request.tool);
  in.Read(request.options);
  ReadCommand(in, request);
  in.Read(request.collect);
  in.Read(request.prepare);
  in.Read(request.check);
  ReadDaemonsPart(in, request);
  in.Read(request.most_outputs);
  in.Read(request.output_folder);
  if (in.Ok()) return request;
  return BadRequest();
}

Result<LaunchRequest> DecodeFirstLaunchRequest(std::string_view bytes) {
  MessageDecoder in(bytes);
  LaunchRequest request;
  ReadCommand(in, request);
  ReadDaemonsPart(in, request);
  if (in.Ok()) return request;
  return BadRequest();
}

}  // namespace kprof

#include "daemon/launch/launch_request.h"

#include <algorithm>
#include <array>

#include "storage/base/message_coder.h"
#include "storage/crypto/sha256.h"

namespace kprof {
namespace {

// Part of what is summed, so that no sum of another form is ever taken for one of this.
constexpr std::string_view kForm = "kprof launch 2\n";

constexpr std::array<std::string_view, 7> kDaemonsVariables = {kRunIdVariable,         kStateVariable,
                                                               kToolPathVariable,      kNcuFolderVariable,
                                                               "CUDA_VISIBLE_DEVICES", "NEURON_RT_VISIBLE_CORES",
                                                               "ROCR_VISIBLE_DEVICES"};

// A letter that no shell gives a meaning between quotes.
bool IsPlainLetter(char c) {
  const bool alphanumeric = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return alphanumeric || std::string_view("-_.,:/ ").find(c) != std::string_view::npos;
}

}  // namespace

bool IsDaemonsVariable(std::string_view variable) {
  const size_t equals = variable.find('=');
  if (equals == std::string_view::npos) return false;
  const std::string_view value = variable.substr(equals + 1);
  return std::find(kDaemonsVariables.begin(), kDaemonsVariables.end(), variable.substr(0, equals)) !=
             kDaemonsVariables.end() &&
         std::all_of(value.begin(), value.end(), IsPlainLetter);
}

std::string LaunchDigest(const LaunchRequest& request) {
  LaunchRequest callers = request;
  std::erase_if(callers.environment, IsDaemonsVariable);
  Sha256 sum;
  sum.Add(kForm);
  sum.Add(EncodeCallersPart(callers));
  return sum.Finish();
}

bool LooksLikeLaunchDigest(std::string_view text) {
  return text.size() == kLaunchDigestLength &&
         std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

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

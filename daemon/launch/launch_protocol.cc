#include "daemon/launch/launch_protocol.h"

#include <algorithm>
#include <utility>

#include "daemon/launch/launch_request.h"
#include "daemon/launch/output_log.h"
#include "storage/base/environment.h"
#include "storage/base/message_coder.h"

namespace kprof {
namespace {

constexpr size_t kHeaderBytes = 5;  // u32 length, u8 type
constexpr size_t kTypeBytes = 1;
constexpr uint32_t kLaunchHelloMagic = 0x4c52504b;  // "KPRL"

// One list of fields per message, for both directions.
template <typename Coder, typename Ended>
void ForEachLaunchField(Coder&& field, Ended& ended) {
  field(ended.exit_code);
  field(ended.signal);
  field(ended.stopped);
  field(ended.killed);
  field(ended.ended_unix_ns);
  field(ended.wall_ns);
  field(ended.user_cpu_ns);
  field(ended.system_cpu_ns);
  field(ended.max_rss_bytes);
  field(ended.voluntary_switches);
  field(ended.involuntary_switches);
  field(ended.leftover_processes);
  field(ended.unkillable_processes);
  field(ended.host_cpus);
  field(ended.host_wall_ns);
  field(ended.others_cpu_ns);
  field(ended.stdout_bytes);
  field(ended.stdout_dropped_bytes);
  field(ended.stderr_bytes);
  field(ended.stderr_dropped_bytes);
  field(ended.output_error);
  field(ended.metrics);
  field(ended.metrics_dropped_bytes);
  field(ended.failed_step);
  field(ended.step_exit_code);
  field(ended.step_signal);
  field(ended.tries);
  field(ended.tool_error);
  field(ended.tool_error_why);
  field(ended.tool_error_remedy);
  field(ended.tool_notes);
}

template <typename Coder, typename Turn>
void ForEachTurnField(Coder&& field, Turn& turn) {
  field(turn.side);
  field(turn.exit_code);
  field(turn.signal);
  field(turn.began_unix_ns);
  field(turn.wall_ns);
  field(turn.user_cpu_ns);
  field(turn.system_cpu_ns);
  field(turn.max_rss_bytes);
  field(turn.leftover_processes);
  field(turn.text);
  field(turn.dropped_bytes);
}

Status BadPayload(const char* message) {
  return Fail(ErrorCode::kBadInput, std::string("read a ") + message + " message of kprof-launch",
              "its bytes are not in the protocol's form", kOtherBuildsRemedy);
}

bool IsLaunchMessage(uint8_t type) {
  switch (static_cast<LaunchMessage>(type)) {
    case LaunchMessage::kPrepare:
    case LaunchMessage::kGo:
    case LaunchMessage::kStop:
    case LaunchMessage::kHello:
    case LaunchMessage::kPrepared:
    case LaunchMessage::kStarted:
    case LaunchMessage::kLaunchFailed:
    case LaunchMessage::kEnded:
    case LaunchMessage::kLease:
    case LaunchMessage::kStepsDone:
    case LaunchMessage::kOutput:
    case LaunchMessage::kLeftOut:
    case LaunchMessage::kCommandOver:
    case LaunchMessage::kStepBegins:
    case LaunchMessage::kTurn:
    case LaunchMessage::kEnough:
    case LaunchMessage::kTurnOver:
      return true;
  }
  return false;
}

bool HoldsNul(const std::vector<std::string>& texts) {
  return std::any_of(texts.begin(), texts.end(),
                     [](const std::string& text) { return text.find('\0') != std::string::npos; });
}

}  // namespace

Status CheckLaunchRequest(const LaunchRequest& request) {
  const char* why = nullptr;
  size_t size_bytes = 0;
  for (const std::string& text : request.argv) size_bytes += text.size() + sizeof(uint32_t);
  for (const std::string& text : request.environment) size_bytes += text.size() + sizeof(uint32_t);
  for (const std::string& text : request.options) size_bytes += text.size() + sizeof(uint32_t);
  for (const std::string& text : request.collect) size_bytes += text.size() + sizeof(uint32_t);
  size_bytes += request.prepare.size() + request.check.size() + request.tool.size();
  constexpr size_t kRoomForRestBytes = 64 << 10;
  if (!request.argv.empty() && request.argv[0].empty()) {
    why = "no program is named";
  } else if (request.cwd.empty() || request.cwd[0] != '/') {
    why = "its folder is not an absolute path";
  } else if (HoldsNul(request.argv) || HoldsNul(request.environment) || request.cwd.find('\0') != std::string::npos) {
    why = "an argument, a variable or the folder holds a NUL byte";
  } else if (HoldsNul(request.collect) || HoldsNul({request.prepare, request.check})) {
    why = "a name of files to be kept, or a command of --prepare or --check, holds a NUL byte";
  } else if (request.most_outputs < 0 || request.output_head_bytes < 0 || request.output_tail_bytes < 0 ||
             request.leftover_grace_ms < 0) {
    why = "a limit is negative";
  } else if (request.output_head_bytes > kMostOutputLimitBytes || request.output_tail_bytes > kMostOutputLimitBytes) {
    why = "a limit of its output is over 1 GiB";
  } else if (size_bytes + request.cwd.size() + request.limits.size() * 20 + kRoomForRestBytes >
             kLaunchFrameLimitBytes) {
    why = "command line and environment are over 8 MiB";
  }
  if (why == nullptr) return OkStatus();
  return Fail(ErrorCode::kUsage, "start a command", why, "correct the request");
}

Result<LaunchRequest> MarkedRequest(LaunchRequest request, const std::string& marker) {
  SetVariable(request.environment, std::string(kRunIdVariable) + "=" + marker);
  RETURN_IF_ERROR(CheckLaunchRequest(request));
  return request;
}

std::string EncodeLaunchFailure(const LaunchFailure& failure) {
  MessageEncoder out;
  out.Add(failure.step);
  out.Add(failure.error);
  return out.Take();
}

Result<LaunchFailure> DecodeLaunchFailure(std::string_view payload) {
  MessageDecoder in(payload);
  LaunchFailure failure;
  in.Read(failure.step);
  in.Read(failure.error);
  if (!in.Ok()) return BadPayload("LaunchFailed");
  return failure;
}

std::string EncodeCommandStarted(const CommandStarted& started) {
  MessageEncoder out;
  out.Add(started.pid);
  out.Add(started.unix_ns);
  out.Add(started.mono_ns);
  return out.Take();
}

Result<CommandStarted> DecodeCommandStarted(std::string_view payload) {
  MessageDecoder in(payload);
  CommandStarted started;
  in.Read(started.pid);
  in.Read(started.unix_ns);
  in.Read(started.mono_ns);
  if (!in.Ok()) return BadPayload("Started");
  return started;
}

std::string EncodeCommandEnded(const CommandEnded& ended) {
  MessageEncoder out;
  ForEachLaunchField([&](const auto& field) { out.Add(field); }, ended);
  return out.Take();
}

Result<CommandEnded> DecodeCommandEnded(std::string_view payload) {
  MessageDecoder in(payload);
  CommandEnded ended;
  ForEachLaunchField([&](auto& field) { in.Read(field); }, ended);
  if (!in.Ok()) return BadPayload("Ended");
  return ended;
}

std::string EncodeLease(const std::vector<std::string>& variables) {
  MessageEncoder out;
  out.Add(variables);
  return out.Take();
}

Result<std::vector<std::string>> DecodeLease(std::string_view payload) {
  MessageDecoder in(payload);
  std::vector<std::string> variables;
  in.Read(variables);
  if (!in.Ok()) return BadPayload("Lease");
  return variables;
}

std::string EncodeOutputFound(const OutputFound& output) {
  MessageEncoder out;
  out.Add(output.path);
  out.Add(output.tool_output);
  return out.Take();
}

Result<OutputFound> DecodeOutputFound(std::string_view payload) {
  MessageDecoder in(payload);
  OutputFound output;
  in.Read(output.path);
  in.Read(output.tool_output);
  if (!in.Ok() || output.path.empty() || output.path.size() > kMostOutputPathBytes) return BadPayload("Output");
  return output;
}

std::string EncodeOutputsLeftOut(const OutputsLeftOut& left_out) {
  MessageEncoder out;
  out.Add(left_out.reasons);
  out.Add(left_out.more);
  return out.Take();
}

Result<OutputsLeftOut> DecodeOutputsLeftOut(std::string_view payload) {
  MessageDecoder in(payload);
  OutputsLeftOut left_out;
  in.Read(left_out.reasons);
  in.Read(left_out.more);
  const bool fits = left_out.reasons.size() <= kMostLeftOutReasons && left_out.more >= 0 &&
                    std::all_of(left_out.reasons.begin(), left_out.reasons.end(),
                                [](const std::string& reason) { return reason.size() <= kMostLeftOutReasonBytes; });
  if (!in.Ok() || !fits) return BadPayload("LeftOut");
  return left_out;
}

std::string EncodeTurnAsked(const TurnAsked& turn) {
  MessageEncoder out;
  out.Add(turn.side);
  out.Add(turn.samples);
  out.Add(turn.seed);
  return out.Take();
}

Result<TurnAsked> DecodeTurnAsked(std::string_view payload) {
  MessageDecoder in(payload);
  TurnAsked turn;
  in.Read(turn.side);
  in.Read(turn.samples);
  in.Read(turn.seed);
  if (!in.Ok() || turn.side < 0 || turn.samples < 0) return BadPayload("Turn");
  return turn;
}

std::string EncodeTurnEnded(const TurnEnded& turn) {
  MessageEncoder out;
  ForEachTurnField([&](const auto& field) { out.Add(field); }, turn);
  return out.Take();
}

Result<TurnEnded> DecodeTurnEnded(std::string_view payload) {
  MessageDecoder in(payload);
  TurnEnded turn;
  ForEachTurnField([&](auto& field) { in.Read(field); }, turn);
  if (!in.Ok() || turn.text.size() > kMostEventTextBytes || turn.wall_ns < 0) return BadPayload("TurnOver");
  return turn;
}

std::string EncodeStop(int64_t grace_ms) {
  MessageEncoder out;
  out.Add(grace_ms);
  return out.Take();
}

Result<int64_t> DecodeStop(std::string_view payload) {
  MessageDecoder in(payload);
  int64_t grace_ms = 0;
  in.Read(grace_ms);
  if (!in.Ok()) return BadPayload("Stop");
  return grace_ms;
}

std::string FrameOf(LaunchMessage type, std::string_view payload) {
  KPROF_CHECK(payload.size() + kTypeBytes <= kLaunchFrameLimitBytes);
  MessageEncoder out;
  out.Add(static_cast<uint32_t>(payload.size() + kTypeBytes));
  out.Add(static_cast<uint8_t>(type));
  std::string frame = out.Take();
  frame += payload;
  return frame;
}

std::string HelloFrame(uint32_t version) {
  MessageEncoder hello;
  hello.Add(kLaunchHelloMagic);
  hello.Add(version);
  return FrameOf(LaunchMessage::kHello, hello.Take());
}

std::string FirstFrames(const LaunchRequest& request) {
  std::string frames = HelloFrame() + FrameOf(LaunchMessage::kPrepare, EncodeLaunchRequest(request));
  if (request.prepare.empty()) frames += FrameOf(LaunchMessage::kLease, EncodeLease({}));
  return frames;
}

Result<std::optional<FrameReader::Frame>> FrameReader::Next() {
  Result<std::optional<Frame>> frame = NextFrame();
  if (greeted_ || (frame.ok() && !frame->has_value())) return frame;
  static const std::string kHelloPayload = HelloFrame().substr(kHeaderBytes);
  if (!frame.ok() || (*frame)->type != LaunchMessage::kHello || (*frame)->payload != kHelloPayload) {
    return Fail(ErrorCode::kBadInput, "read from kprof-launch's channel", kOtherBuildsWhy, kOtherBuildsRemedy);
  }
  greeted_ = true;
  return NextFrame();
}

Result<std::optional<FrameReader::Frame>> FrameReader::NextFrame() {
  auto not_yet = [this] {
    buffer_.erase(0, taken_bytes_);
    taken_bytes_ = 0;
    if (buffer_.empty()) buffer_.shrink_to_fit();  // a request is large, what follows is small
    return std::optional<Frame>();
  };
  std::string_view rest = std::string_view(buffer_).substr(taken_bytes_);
  if (rest.size() < kHeaderBytes) return not_yet();
  uint32_t length = 0;
  uint8_t type = 0;
  MessageDecoder header(rest);
  header.Read(length);
  header.Read(type);
  if (length < kTypeBytes || length > kLaunchFrameLimitBytes || !IsLaunchMessage(type)) {
    return Fail(
        ErrorCode::kBadInput, "read from kprof-launch's channel",
        "a frame of type " + std::to_string(type) + " with " + std::to_string(length) + " bytes is none of ours",
        kOtherBuildsRemedy);
  }
  const size_t payload_bytes = length - kTypeBytes;
  if (rest.size() - kHeaderBytes < payload_bytes) return not_yet();
  Frame frame{static_cast<LaunchMessage>(type), std::string(rest.substr(kHeaderBytes, payload_bytes))};
  taken_bytes_ += kHeaderBytes + payload_bytes;
  return std::optional<Frame>(std::move(frame));
}

}  // namespace kprof

// The decoders of launch_protocol.h: the first byte says how to cut the rest, then every decoder sees every piece. What
// decodes must encode to the same bytes.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "daemon/launch/launch_protocol.h"
#include "daemon/launch/output_log.h"
#include "daemon/launch/process_table.h"

namespace kprof {
namespace {

void DecodeAll(std::string_view bytes) {
  if (auto request = DecodeLaunchRequest(bytes); request.ok()) {
    KPROF_CHECK(EncodeLaunchRequest(*request) == bytes);
    (void)CheckLaunchRequest(*request).ok();
  }
  if (auto failure = DecodeLaunchFailure(bytes); failure.ok()) KPROF_CHECK(EncodeLaunchFailure(*failure) == bytes);
  if (auto started = DecodeCommandStarted(bytes); started.ok()) KPROF_CHECK(EncodeCommandStarted(*started) == bytes);
  if (auto ended = DecodeCommandEnded(bytes); ended.ok()) KPROF_CHECK(EncodeCommandEnded(*ended) == bytes);
  if (auto variables = DecodeLease(bytes); variables.ok()) KPROF_CHECK(EncodeLease(*variables) == bytes);
  if (auto output = DecodeOutputFound(bytes); output.ok()) KPROF_CHECK(EncodeOutputFound(*output) == bytes);
  if (auto left_out = DecodeOutputsLeftOut(bytes); left_out.ok()) KPROF_CHECK(EncodeOutputsLeftOut(*left_out) == bytes);
  if (auto grace_ms = DecodeStop(bytes); grace_ms.ok()) KPROF_CHECK(EncodeStop(*grace_ms) == bytes);
}

}  // namespace
}  // namespace kprof

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const size_t step = data[0] + 1;
  std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  kprof::DecodeAll(bytes);
  (void)kprof::ParseProcessStat(std::string(bytes));
  kprof::FrameReader reader;
  while (!bytes.empty()) {
    reader.Add(bytes.substr(0, step));
    bytes.remove_prefix(std::min(step, bytes.size()));
    while (true) {
      auto frame = reader.Next();
      if (!frame.ok()) return 0;
      if (!frame->has_value()) break;
      kprof::DecodeAll((*frame)->payload);
    }
  }
  return 0;
}

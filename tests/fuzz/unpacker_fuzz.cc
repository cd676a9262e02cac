// A packed source as no tool would make it: unpacked with any room it is the same, it ends, and never makes bytes of
// nothing.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "daemon/ingest/source/text_source.h"

namespace kprof {
namespace {

constexpr size_t kMostText = 4 << 20;

struct UnpackedText {
  std::string bytes;
  bool is_whole = false;
};

UnpackedText UnpackAll(std::unique_ptr<Unpacker> unpacker, std::string_view packed, size_t in_at_once,
                       size_t out_at_once) {
  UnpackedText text;
  std::vector<char> out(out_at_once);
  while (text.bytes.size() < kMostText) {
    const std::string_view next = packed.substr(0, in_at_once);
    const Result<Unpacker::Step> step = unpacker->Unpack(next, out);
    if (!step.ok()) return text;
    KPROF_CHECK(step->taken <= next.size() && step->made <= out.size());
    text.bytes.append(out.data(), step->made);
    packed.remove_prefix(step->taken);
    if (step->made > 0) continue;
    if (packed.empty()) {
      text.is_whole = unpacker->AtEnd();
      return text;
    }
    if (step->taken == 0) return text;
  }
  return text;
}

}  // namespace
}  // namespace kprof

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kprof;
  if (size < 2) return 0;
  const auto unpacker = [&] { return (data[0] & 1) == 0 ? MakeGzipUnpacker() : MakeZstdUnpacker(); };
  const std::string_view packed(reinterpret_cast<const char*>(data) + 2, size - 2);
  const UnpackedText whole = UnpackAll(unpacker(), packed, packed.size(), kMostText);
  const UnpackedText pieces = UnpackAll(unpacker(), packed, 1 + data[1], 4096);
  if (whole.bytes.size() >= kMostText || pieces.bytes.size() >= kMostText) return 0;
  KPROF_CHECK(whole.is_whole == pieces.is_whole);
  const size_t both = std::min(whole.bytes.size(), pieces.bytes.size());
  KPROF_CHECK(!whole.is_whole || whole.bytes == pieces.bytes);
  KPROF_CHECK(whole.bytes.compare(0, both, pieces.bytes, 0, both) == 0);
  return 0;
}

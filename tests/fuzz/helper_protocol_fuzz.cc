// The decoders of what a hostile kprofd could send to the root helper, and of the grants that it reads back: what
// decodes must encode to the same bytes; a grant of an older version to one of the newest that says the same.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "daemon/helper/grant_store.h"
#include "daemon/process/helper_client/helper_protocol.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (auto packet = kprof::DecodeHelperPacket(bytes); packet.ok()) {
    KPROF_CHECK(kprof::EncodeHelperPacket(*packet) == bytes);
    (void)kprof::FilesOf(packet->message);
  }
  if (auto grant = kprof::DecodeGrant(bytes); grant.ok()) {
    KPROF_CHECK(*kprof::DecodeGrant(kprof::EncodeGrant(*grant)) == *grant);
  }
  // Past the sum, which no fuzzer guesses.
  if (auto grant = kprof::DecodeGrant(kprof::WithGrantFrame(bytes)); grant.ok()) {
    KPROF_CHECK(kprof::EncodeGrant(*grant) == kprof::WithGrantFrame(bytes));
  }
  return 0;
}

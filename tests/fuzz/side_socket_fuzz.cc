// The packets of the side socket, which any local user can send: what decodes must encode to the same bytes.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "proto/side_socket.h"
#include "storage/base/status.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (auto request = kprof::DecodeSideRequest(bytes)) KPROF_CHECK(kprof::EncodeSideRequest(*request) == bytes);
  if (auto answer = kprof::DecodeSideAnswer(bytes)) KPROF_CHECK(kprof::EncodeSideAnswer(*answer) == bytes);
  return 0;
}

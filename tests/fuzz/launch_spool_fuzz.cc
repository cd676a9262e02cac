// The launch spool's reader. The first byte says what the rest is:
//   'f'  a whole file
//   'p'  a payload, which gets the header that belongs to it, so that the decoder sees it
//   'd'  u32 place, one byte, a payload: as 'p', then that byte of the file is changed, which must be noticed
// What is read must be written back as the same bytes; what is not must be a storage that is broken, and nothing else.
#include "daemon/runs/command/launch_spool.h"

#include <cstddef>
#include <cstdint>
#include <string>

#include "storage/crypto/sha256.h"
#include "tests/fakes/storage/memory_files.h"
#include "tests/fuzz/fuzz_bytes.h"

namespace kprof {
namespace {

const Layout kLayout{"/state"};

std::string FileOf(std::string_view payload) {
  return "kprofspool2\n" + Sha256Of(payload) + "\n" + std::string(payload);
}

// Whether it was taken.
bool Read(const std::string& content) {
  MemoryFiles files;
  files.Put(kLayout.SpoolPath("r"), content);
  Result<LaunchRequest> request = ReadSpool(files, kLayout, "r");
  if (!request.ok()) {
    KPROF_CHECK(request.status().code() == ErrorCode::kStorageBroken);
    return false;
  }
  KPROF_CHECK(CheckLaunchRequest(*request).ok());
  KPROF_CHECK(WriteSpool(files, kLayout, "again", *request).ok());
  KPROF_CHECK(*files.Find(kLayout.SpoolPath("again")) == content);
  KPROF_CHECK(*ReadSpool(files, kLayout, "again") == *request);
  return true;
}

void CheckSpool(FuzzBytes input) {
  const uint8_t kind = input.Byte();
  if (kind == 'f') {
    Read(std::string(input.Rest()));
    return;
  }
  const size_t place = kind == 'd' ? input.Number(4) : 0;
  const char change = kind == 'd' ? static_cast<char>(input.Byte()) : '\0';
  const std::string_view payload = input.Rest();
  std::string content = FileOf(payload);
  if (change != '\0') {
    content[place % content.size()] ^= change;
    KPROF_CHECK(!Read(content));
    return;
  }
  Result<LaunchRequest> request = DecodeLaunchRequest(payload);
  KPROF_CHECK(Read(content) == (request.ok() && CheckLaunchRequest(*request).ok()));
}

}  // namespace
}  // namespace kprof

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  kprof::CheckSpool(kprof::FuzzBytes(data, size));
  return 0;
}

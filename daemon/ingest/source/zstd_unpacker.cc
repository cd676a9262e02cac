#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include "daemon/ingest/source/text_source.h"

namespace kprof {
namespace {

constexpr size_t kZstdStepBytes = ZSTD_BLOCKSIZE_MAX;
constexpr size_t kFrameBeginBytes = 5;  // of which the library says how many more its header has
constexpr int kMostWindowBits = 27;     // 128 MiB: what its tool makes without --ultra

constexpr std::string_view kZstdMagic = "\x28\xb5\x2f\xfd";
constexpr std::string_view kSkippedMagic = "\x2a\x4d\x18";  // behind a byte from 0x50 to 0x5f

// A frame, as far as it is there.
bool MayBegin(std::span<const char> in) {
  const std::string_view magic(in.data(), std::min(in.size(), kZstdMagic.size()));
  return kZstdMagic.starts_with(magic) || ((magic[0] & 0xf0) == 0x50 && kSkippedMagic.starts_with(magic.substr(1)));
}

class ZstdUnpacker : public Unpacker {
 public:
  ZstdUnpacker() : stream_(ZSTD_createDStream()) {
    KPROF_CHECK(stream_ != nullptr);
    ZSTD_DCtx_setParameter(stream_.get(), ZSTD_d_windowLogMax, kMostWindowBits);
  }

  // Of a call that fails the library does not tell what it made before: so it gets as much at once as it asks for, a
  // block or the checksum behind the last one, never both.
  Result<Step> Unpack(std::span<const char> in, std::span<char> out) override {
    if (at_end_ && taken_bytes_ > 0 && !in.empty() && !MayBegin(in)) return NotPackedBehind("zstd", taken_bytes_);
    ZSTD_inBuffer from{in.data(), std::min(in.size(), wanted_), 0};
    ZSTD_outBuffer to{out.data(), std::min(out.size(), kZstdStepBytes), 0};
    const size_t result = ZSTD_decompressStream(stream_.get(), &to, &from);
    if (ZSTD_isError(result)) return Broken(result);
    if (from.pos > 0 || to.pos > 0) at_end_ = result == 0;  // else it only asks for another frame
    wanted_ = result == 0 ? kFrameBeginBytes : result;
    taken_bytes_ += static_cast<int64_t>(from.pos);
    return Step{from.pos, to.pos};
  }

  bool AtEnd() const override { return at_end_; }

 private:
  static Status Broken(size_t result) {
    const bool is_wide = ZSTD_getErrorCode(result) == ZSTD_error_frameParameter_windowTooLarge;
    return Fail(ErrorCode::kBadInput, "unpack zstd", ZSTD_getErrorName(result),
                is_wide ? "pack it again without --long and --ultra, or unpack it first" : kPackAgain);
  }

  struct Free {
    void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
  };
  std::unique_ptr<ZSTD_DStream, Free> stream_;
  bool at_end_ = true;
  int64_t taken_bytes_ = 0;  // of the source
  size_t wanted_ = kFrameBeginBytes;
};

}  // namespace

// A frame of text, or one that says something beside it and is skipped (pzstd begins with one): those have 16 magics.
bool LooksLikeZstd(std::span<const char> first) {
  return first.size() >= kZstdMagic.size() && MayBegin(first);
}

std::unique_ptr<Unpacker> MakeZstdUnpacker() {
  return std::make_unique<ZstdUnpacker>();
}

}  // namespace kprof

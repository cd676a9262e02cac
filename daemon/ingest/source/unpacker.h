// Unpacks a compressed source step by step. gzip_unpacker.cc, zstd_unpacker.cc; several packed texts one behind the
// other are one text, as their tools have it.
//
// One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "storage/base/status.h"

namespace kprof {

class Unpacker {
 public:
  virtual ~Unpacker() = default;

  struct Step {
    size_t taken = 0;  // of `in`
    size_t made = 0;   // of `out`
  };
  // Takes from `in`, makes some of `out`. Fails with kBadInput where the bytes are not what its tool makes, once what
  // could be made of those before was made. Makes nothing and takes nothing only where `in` is empty.
  virtual Result<Step> Unpack(std::span<const char> in, std::span<char> out) = 0;
  // Nothing is under way: the source may end here.
  virtual bool AtEnd() const = 0;
};

// What to do about one that is broken.
constexpr const char* kPackAgain = "pack it again, or copy it again from where it is whole";

// Why a source that was unpacked up to there, the end of a packed text, cannot be unpacked further.
Status NotPackedBehind(std::string_view tool, int64_t source_bytes);

bool LooksLikeGzip(std::span<const char> first);
std::unique_ptr<Unpacker> MakeGzipUnpacker();

bool LooksLikeZstd(std::span<const char> first);
std::unique_ptr<Unpacker> MakeZstdUnpacker();

}  // namespace kprof

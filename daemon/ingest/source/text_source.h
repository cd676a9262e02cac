// The text of a source: what a file holds, or what it holds unpacked. Pieces of it are read side by side.
//
// Any thread, but for the last two.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

#include "daemon/ingest/source/source_file.h"
#include "storage/base/status.h"

namespace kprof {

class TextSource {
 public:
  virtual ~TextSource() = default;
  // Fills `out` from there on; waits until it is unpacked. Fewer bytes only at the end of the text. REQUIRES: nothing
  // before `offset_bytes` was released beyond it.
  virtual Result<size_t> ReadAt(int64_t offset_bytes, std::span<char> out) = 0;
  // Whether what is before this place is there, or will be without more of a source that still comes.
  virtual bool HasComeTo(int64_t offset_bytes) = 0;
  // Text before this place is not asked for any more.
  virtual void Release(int64_t offset_bytes) = 0;
  // How much of the file was read for the text up to there, about.
  virtual int64_t SourceBytesAt(int64_t offset_bytes) = 0;

  // When all readers are done. Why the text ends before its source does: a damaged or a cut file, or one that becomes
  // shorter while it is read. Nothing where it does not.
  virtual std::optional<Status> WhyCut() = 0;
  // Of the whole source (source_hash.h), what was never read included. Empty where it became shorter meanwhile: WhyCut
  // says so then.
  virtual Result<std::string> FinishHash(const std::stop_token& stop) = 0;
};

// Unpacks a compressed source step by step. gzip_unpacker.cc, zstd_unpacker.cc; several packed texts one behind the
// other are one text, as their tools have it.
//
// One thread.
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

// The text of a source that is not packed: the file as it is.

// The file must outlive it.
std::unique_ptr<TextSource> OpenPlainText(const SourceFile& file);

// The text of a packed source: one thread unpacks it, ahead of those who read it by some blocks. Where none can be
// started, who reads unpacks up to there first: slower, and the same text.
struct PackedTextLimits {
  size_t blocks_ahead = 6;                 // of kTextBlockBytes, beyond what was released
  int64_t text_bytes = int64_t{64} << 30;  // of the text; beyond, it is cut
  int64_t most_ratio = 400;                // of text to source, where the text is more than least_bytes_of_ratio
  int64_t least_bytes_of_ratio = 256 << 20;
};
constexpr size_t kTextBlockBytes = 4 << 20;

// The file must outlive it.
std::unique_ptr<TextSource> OpenPackedText(const SourceFile& file, std::unique_ptr<Unpacker> unpacker,
                                           const PackedTextLimits& limits = {});

}  // namespace kprof

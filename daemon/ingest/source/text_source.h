// The text of a source: a file as it is (OpenPlainText), or unpacked from gzip or zstd (OpenPackedText).
#pragma once

#include <algorithm>
#include <atomic>
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

// The text of a source. Pieces of it are read side by side.
//
// Any thread, except for WhyCut and FinishHash.
class TextSource {
 public:
  virtual ~TextSource() = default;
  // Fills `out` from `offset_bytes` on; waits until that is unpacked. Fewer bytes only at the end of the text.
  // REQUIRES: Release was never called with a later place.
  virtual Result<size_t> ReadAt(int64_t offset_bytes, std::span<char> out) = 0;
  // True if all text before this place is there, or will be without more of a source that still comes.
  virtual bool HasComeTo(int64_t offset_bytes) = 0;
  // Text before this place is not read any more.
  virtual void Release(int64_t offset_bytes) = 0;
  // About how much of the file was read for the text up to there.
  virtual int64_t SourceBytesAt(int64_t offset_bytes) = 0;

  // Call when all readers are done. Tells why the text ends before its source does: the file is damaged or cut off, or
  // became shorter while it was read. Nothing: it does not.
  virtual std::optional<Status> WhyCut() = 0;
  // Call when all readers are done. Returns the hash of the whole source (source_hash.h), with the parts that were
  // never read. Empty: the source became shorter meanwhile, and WhyCut says so now.
  virtual Result<std::string> FinishHash(const std::stop_token& stop) = 0;
};

// Unpacks a compressed source step by step (gzip_unpacker.cc, zstd_unpacker.cc). Several packed texts one behind the
// other are one text, as for their tools.
//
// One thread.
class Unpacker {
 public:
  virtual ~Unpacker() = default;

  struct Step {
    size_t taken = 0;  // of `in`
    size_t made = 0;   // of `out`
  };
  // Takes some of `in`, makes some of `out`. Fails with kBadInput for bytes that its tool does not write, after it has
  // made all it can of those before. Makes nothing and takes nothing only when `in` is empty.
  virtual Result<Step> Unpack(std::span<const char> in, std::span<char> out) = 0;
  // True: nothing is under way, so the source may end here.
  virtual bool AtEnd() const = 0;
};

// The remedy for a broken packed source.
constexpr const char* kPackAgain = "pack it again, or copy it again from where it is whole";

// The failure for a source with other bytes behind the end of a packed text; they begin at `source_bytes`.
Status NotPackedBehind(std::string_view tool, int64_t source_bytes);

bool LooksLikeGzip(std::span<const char> first);
std::unique_ptr<Unpacker> MakeGzipUnpacker();

bool LooksLikeZstd(std::span<const char> first);
std::unique_ptr<Unpacker> MakeZstdUnpacker();

// The text of a source that is not packed. The file must outlive it.
std::unique_ptr<TextSource> OpenPlainText(const SourceFile& file);

// The beginning of a text, for whoever is to read no more of it. `text` must outlive it.
class TextHead final : public TextSource {
 public:
  TextHead(TextSource& text, int64_t size_bytes) : text_(text), size_bytes_(size_bytes) {}

  Result<size_t> ReadAt(int64_t offset_bytes, std::span<char> out) override;
  bool HasComeTo(int64_t offset_bytes) override { return text_.HasComeTo(std::min(offset_bytes, size_bytes_)); }
  void Release(int64_t offset_bytes) override { text_.Release(std::min(offset_bytes, size_bytes_)); }
  int64_t SourceBytesAt(int64_t offset_bytes) override { return text_.SourceBytesAt(offset_bytes); }
  std::optional<Status> WhyCut() override { return was_cut_ ? std::nullopt : text_.WhyCut(); }
  Result<std::string> FinishHash(const std::stop_token& stop) override { return text_.FinishHash(stop); }

  // True: somebody wanted to read on, and the text may do so.
  bool was_cut() const { return was_cut_; }

 private:
  TextSource& text_;
  const int64_t size_bytes_;
  std::atomic<bool> was_cut_ = false;
};

// The last bytes of a text, at most `most_bytes`. Nothing where the text goes on beyond `until_bytes`. Reads all of it
// from `from_bytes` on, in pieces, and releases it. Fails as ReadAt does.
Result<std::optional<std::string>> ReadTextEnd(TextSource& text, int64_t from_bytes, int64_t until_bytes,
                                               size_t most_bytes);

struct PackedTextLimits {
  size_t blocks_ahead = 6;                 // of kTextBlockBytes, beyond what was released
  int64_t text_bytes = int64_t{64} << 30;  // of the text; beyond, it is cut
  int64_t most_ratio = 400;                // of text to source, where the text is more than least_bytes_of_ratio
  int64_t least_bytes_of_ratio = 256 << 20;
};
constexpr size_t kTextBlockBytes = 4 << 20;

// The text of a packed source. One thread unpacks it, some blocks ahead of its readers. If no thread can be started, a
// reader unpacks up to its own place first: slower, with the same text. The file must outlive it.
std::unique_ptr<TextSource> OpenPackedText(const SourceFile& file, std::unique_ptr<Unpacker> unpacker,
                                           const PackedTextLimits& limits = {});

}  // namespace kprof

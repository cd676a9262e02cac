// The text of a source: what a file holds, or what it holds unpacked. Pieces of it are read side by side.
//
// Any thread, but for the last two.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <string>

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

}  // namespace kprof

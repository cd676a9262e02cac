// Logs and progress files as no writer and no crash would leave them: finished, finished again, finished after a cut at
// any change, and read live while somebody changes the progress file. Whatever they hold, sizes and sums must be those
// of the file that is there, and a reader that goes on where it was told neither misses nor repeats a byte silently.
//
// Input: head (1 byte), tail (1), flags (1), cut (1), read limit (1), number of the read before which the second
// progress comes (1), offset of a live read (8); the progress file of both streams (128); the second one (128); the
// log. Into each record go the magic and the limits from the front; flag 32 leaves those that are there.
// Flags: 1 the other stream, 2 no progress file, 4 a progress file cut by `cut` bytes, 8 no log, 16 a .partial.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "daemon/launch/output_log.h"
#include "storage/crypto/sha256.h"
#include "tests/fakes/storage/memory_files.h"
#include "tests/fuzz/fuzz_bytes.h"

namespace kprof {
namespace {

constexpr const char* kLog = "/run/stdout.log";
constexpr const char* kPartial = "/run/stdout.log.partial";
constexpr const char* kProgress = "/run/output.progress";

bool operator==(const FinishedOutput& a, const FinishedOutput& b) {
  return a.size_bytes == b.size_bytes && a.sha256 == b.sha256 && a.printed_bytes == b.printed_bytes &&
         a.dropped_bytes == b.dropped_bytes;
}

// The first fields of a record: magic, head, tail.
void PutLimits(std::string& progress, OutputLimits limits) {
  constexpr size_t kFront = 24;
  const auto record = EncodeOutputProgress({.limits = limits});
  for (size_t at = 0; at + kFront <= progress.size(); at += kOutputProgressBytes) {
    std::copy_n(record.begin(), kFront, progress.begin() + static_cast<ptrdiff_t>(at));
  }
}

// Nothing when there is no record, or none that tells anything.
std::optional<OutputProgress> RecordOf(const std::string& progress, OutputStream stream) {
  const auto at = static_cast<size_t>(OutputProgressOffset(stream));
  if (progress.size() < at + kOutputProgressBytes) return std::nullopt;
  return DecodeOutputProgress(std::span<const char>(progress).subspan(at).first<kOutputProgressBytes>());
}

struct Case {
  OutputStream stream = OutputStream::kStdout;
  bool has_log = true;
  bool has_progress = true;
  bool has_partial = false;
  std::string log;
  std::string progress;
  std::string next_progress;
  int64_t cut_at = 0;
  int64_t read_limit = 1;
  int64_t changing_read = 0;
  int64_t offset = 0;

  void PutInto(MemoryFiles& files) const {
    if (has_log) files.Put(kLog, log);
    if (has_progress) files.Put(kProgress, progress);
    if (has_partial) files.Put(kPartial, "half");
  }
};

Case ReadCase(FuzzBytes input) {
  Case made;
  const int64_t head = input.Byte();
  const int64_t tail = input.Byte();
  const uint8_t flags = input.Byte();
  made.stream = (flags & 1) != 0 ? OutputStream::kStderr : OutputStream::kStdout;
  made.has_progress = (flags & 2) == 0;
  made.has_log = (flags & 8) == 0;
  made.has_partial = (flags & 16) != 0;
  made.cut_at = input.Byte();
  made.read_limit = 1 + input.Byte();
  made.changing_read = input.Byte();
  made.offset = static_cast<int64_t>(input.Number());
  made.progress = input.Take(2 * kOutputProgressBytes);
  made.next_progress = input.Take(2 * kOutputProgressBytes);
  if ((flags & 32) == 0) {
    PutLimits(made.progress, {head, tail});
    PutLimits(made.next_progress, {head, tail});
  }
  if ((flags & 4) != 0) {
    made.progress.resize(made.progress.size() -
                         std::min<size_t>(made.progress.size(), static_cast<size_t>(made.cut_at)));
  }
  made.log = input.Rest();
  return made;
}

// Byte `at` of what was printed, where output_log.h says that the log holds it; -1 where that is behind its end.
int PrintedByte(const Case& c, OutputLimits limits, int64_t at) {
  const int64_t head = limits.head_bytes;
  if (at >= head && limits.tail_bytes == 0) return -1;
  const int64_t place = at < head ? at : head + (at - head) % limits.tail_bytes;
  return place < static_cast<int64_t>(c.log.size()) ? c.log[static_cast<size_t>(place)] : -1;
}

bool IsPrinted(const Case& c, OutputLimits limits, int64_t begin, std::string_view bytes) {
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (PrintedByte(c, limits, begin + static_cast<int64_t>(i)) != bytes[i]) return false;
  }
  return true;
}

std::string LineOf(int64_t dropped_bytes) {
  return dropped_bytes == 0 ? "" : "\n[kprof: " + std::to_string(dropped_bytes) + " bytes dropped here]\n";
}

// A log that the first Finish put in order: the head, perhaps a part of the end, and lines that count what is missing.
void CheckContent(const Case& c, const FinishedOutput& finished, const std::string& content) {
  const std::optional<OutputProgress> progress = RecordOf(c.progress, c.stream);
  if (!progress || !c.has_progress) {
    KPROF_CHECK(content == c.log);
    return;
  }
  if (progress->finished_size_bytes == c.log.size()) return;  // it was in order already, or nobody can tell
  if (content == c.log) return;
  const int64_t kept = finished.printed_bytes - finished.dropped_bytes;
  const int64_t head = std::min(kept, progress->limits.head_bytes);
  // What is missing lies between both, or behind them, or at both places when the disk was full.
  const auto written = static_cast<int64_t>(progress->written_bytes);
  for (const int64_t end : {finished.printed_bytes, written, kept}) {
    const int64_t begin = end - (kept - head);
    if (begin < head) continue;
    const std::string line = LineOf(begin - head);
    const std::string last = LineOf(finished.printed_bytes - end);
    if (content.size() != static_cast<size_t>(kept) + line.size() + last.size()) continue;
    const std::string_view tail = std::string_view(content).substr(static_cast<size_t>(head) + line.size());
    if (content.substr(static_cast<size_t>(head), line.size()) == line && content.ends_with(last) &&
        IsPrinted(c, progress->limits, 0, content.substr(0, static_cast<size_t>(head))) &&
        IsPrinted(c, progress->limits, begin, tail.substr(0, tail.size() - last.size()))) {
      return;
    }
  }
  KPROF_CHECK(!"a byte that was not printed there");
}

FinishedOutput Finish(MemoryFiles& files, const Case& c) {
  Result<FinishedOutput> finished = FinishOutput(files, kLog, kProgress, c.stream);
  KPROF_CHECK(finished.ok());
  return *finished;
}

// What must hold of any finished log; returns it.
FinishedOutput CheckFinish(MemoryFiles& files, const Case& c) {
  const FinishedOutput finished = Finish(files, c);
  const std::string* content = files.Find(kLog);
  KPROF_CHECK((content != nullptr) == (finished.size_bytes > 0));
  KPROF_CHECK(files.Find(kPartial) == nullptr || !c.has_log);
  KPROF_CHECK(finished.printed_bytes >= 0 && finished.dropped_bytes >= 0);
  KPROF_CHECK(finished.dropped_bytes <= finished.printed_bytes);
  if (content != nullptr) {
    KPROF_CHECK(finished.size_bytes == static_cast<int64_t>(content->size()));
    KPROF_CHECK(finished.sha256 == Sha256Of(*content));
    CheckContent(c, finished, *content);
    KPROF_CHECK(Finish(files, c) == finished);
  }
  return finished;
}

void CheckFinishing(const Case& c) {
  MemoryFiles files;
  c.PutInto(files);
  const FinishedOutput finished = CheckFinish(files, c);

  // The same, cut at a change, and then again as the next start would.
  MemoryFiles again;
  c.PutInto(again);
  again.CutAt(c.cut_at);
  (void)FinishOutput(again, kLog, kProgress, c.stream).ok();
  again.CutAt(0);
  if (!c.has_log || again.Find(kLog) == nullptr) return;
  KPROF_CHECK(CheckFinish(again, c) == finished);
  const std::string* content = files.Find(kLog);
  if (content != nullptr) KPROF_CHECK(*again.Find(kLog) == *content);
}

// Returns where to read on.
int64_t CheckPiece(MemoryFiles& files, const Case& c, int64_t offset) {
  Result<OutputPiece> piece = ReadLiveOutput(files, kLog, kProgress, c.stream, offset, c.read_limit);
  KPROF_CHECK(piece.ok());
  const auto size = static_cast<int64_t>(piece->bytes.size());
  KPROF_CHECK(size <= c.read_limit && piece->dropped_bytes >= 0);
  KPROF_CHECK(piece->next_offset == std::max<int64_t>(0, offset) + piece->dropped_bytes + size);
  // Read under one record or the other, and at no time as a mixture of both.
  const auto is_printed_under = [&](const std::string& progress) {
    const std::optional<OutputProgress> record = RecordOf(progress, c.stream);
    return record && record->limits == piece->limits &&
           IsPrinted(c, record->limits, piece->next_offset - size, piece->bytes);
  };
  KPROF_CHECK(size == 0 || is_printed_under(c.progress) || is_printed_under(c.next_progress));
  return piece->next_offset;
}

void CheckLive(const Case& c) {
  MemoryFiles files;
  c.PutInto(files);
  if (!c.has_log || !c.has_progress) {
    KPROF_CHECK(!ReadLiveOutput(files, kLog, kProgress, c.stream, c.offset, c.read_limit).ok());
    return;
  }
  // From the beginning to where nothing new comes: what is kept is at most what the file holds.
  int64_t offset = 0;
  for (size_t pieces = 0;; ++pieces) {
    const int64_t next = CheckPiece(files, c, offset);
    if (next == offset) break;
    KPROF_CHECK(pieces <= c.log.size() + 2);
    offset = next;
  }
  CheckPiece(files, c, c.offset);

  files.before_read = [&, first = int64_t{0}](int64_t read) mutable {
    if (first == 0) first = read;
    if (read - first != c.changing_read) return;
    // In place, as a writer does it: who has the file open sees it.
    *files.Find(kProgress) = c.next_progress;
  };
  CheckPiece(files, c, c.offset);
}

}  // namespace
}  // namespace kprof

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const kprof::Case made = kprof::ReadCase(kprof::FuzzBytes(data, size));
  kprof::CheckFinishing(made);
  kprof::CheckLive(made);
  return 0;
}

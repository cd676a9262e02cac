#include "daemon/launch/output_log.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "storage/crypto/sha256.h"

namespace kprof {
namespace {

constexpr std::string_view kMagic = "kprofop1";
constexpr uint64_t kMostMarkerBytes = 256;  // of the lines that count what is missing
constexpr int64_t kSparedPart = 16;

void PutU64(char* out, uint64_t value) {
  for (size_t i = 0; i < sizeof value; ++i) out[i] = static_cast<char>(value >> (8 * i) & 0xff);
}

uint64_t GetU64(const char* bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < sizeof value; ++i) value |= uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  return value;
}

}  // namespace

std::array<char, kOutputProgressBytes> EncodeOutputProgress(const OutputProgress& progress) {
  std::array<char, kOutputProgressBytes> bytes{};
  std::copy(kMagic.begin(), kMagic.end(), bytes.begin());
  PutU64(bytes.data() + 8, static_cast<uint64_t>(progress.limits.head_bytes));
  PutU64(bytes.data() + 16, static_cast<uint64_t>(progress.limits.tail_bytes));
  PutU64(bytes.data() + 24, progress.claimed_bytes);
  PutU64(bytes.data() + 32, progress.written_bytes);
  PutU64(bytes.data() + 40, progress.printed_bytes);
  PutU64(bytes.data() + 48, progress.finished_size_bytes);
  PutU64(bytes.data() + 56, progress.finished_dropped_bytes);
  return bytes;
}

std::optional<OutputProgress> DecodeOutputProgress(std::span<const char, kOutputProgressBytes> bytes) {
  if (!std::equal(kMagic.begin(), kMagic.end(), bytes.begin())) return std::nullopt;
  const uint64_t head = GetU64(bytes.data() + 8);
  const uint64_t tail = GetU64(bytes.data() + 16);
  constexpr auto kMostLimit = static_cast<uint64_t>(kMostOutputLimitBytes);
  if (head > kMostLimit || tail > kMostLimit) return std::nullopt;
  OutputProgress progress;
  progress.limits = {static_cast<int64_t>(head), static_cast<int64_t>(tail)};
  progress.claimed_bytes = GetU64(bytes.data() + 24);
  progress.written_bytes = GetU64(bytes.data() + 32);
  progress.printed_bytes = GetU64(bytes.data() + 40);
  progress.finished_size_bytes = GetU64(bytes.data() + 48);
  progress.finished_dropped_bytes = GetU64(bytes.data() + 56);
  constexpr auto kMost = static_cast<uint64_t>(INT64_MAX / 2);
  if (progress.claimed_bytes > kMost || progress.printed_bytes > kMost || progress.finished_size_bytes > kMost ||
      progress.finished_dropped_bytes > kMost || progress.written_bytes > progress.claimed_bytes ||
      progress.written_bytes > progress.printed_bytes || progress.finished_dropped_bytes > progress.printed_bytes ||
      progress.finished_size_bytes > head + tail + kMostMarkerBytes) {
    return std::nullopt;
  }
  return progress;
}

OutputLogWriter::OutputLogWriter(int log_fd, int progress_fd, OutputStream stream, OutputLimits limits)
    : log_fd_(log_fd), progress_fd_(progress_fd), stream_(stream), limits_(limits) {
  Publish();
}

void OutputLogWriter::Write(std::span<const char> bytes) {
  if (bytes.empty()) return;
  written_bytes_ += static_cast<int64_t>(bytes.size());
  if (first_error_ == 0) Store(bytes);
  Publish();
}

void OutputLogWriter::Store(std::span<const char> bytes) {
  int64_t at = stored_bytes_;
  auto write = [&](int64_t offset, int64_t count) {
    at += WriteAt(offset, bytes.first(static_cast<size_t>(count)));
    bytes = bytes.subspan(static_cast<size_t>(count));
  };
  const auto size = static_cast<int64_t>(bytes.size());
  const int64_t head_count = std::clamp<int64_t>(limits_.head_bytes - at, 0, size);
  if (head_count > 0) write(at, head_count);
  stored_bytes_ = claimed_bytes_ = at;
  if (first_error_ != 0 || bytes.empty()) return;

  // Of a piece longer than the ring only the end stays.
  const int64_t passed = std::max<int64_t>(0, static_cast<int64_t>(bytes.size()) - limits_.tail_bytes);
  at += passed;
  bytes = bytes.subspan(static_cast<size_t>(passed));
  claimed_bytes_ = at + static_cast<int64_t>(bytes.size());
  if (claimed_bytes_ > limits_.head_bytes + limits_.tail_bytes) Publish();
  while (!bytes.empty() && first_error_ == 0) {
    const int64_t place = (at - limits_.head_bytes) % limits_.tail_bytes;
    write(limits_.head_bytes + place,
          std::min<int64_t>(limits_.tail_bytes - place, static_cast<int64_t>(bytes.size())));
  }
  if (first_error_ != 0 && passed > 0) {
    // The ring is a mixture of which nothing can be told: claiming all of it says so.
    claimed_bytes_ = stored_bytes_ + limits_.tail_bytes;
    return;
  }
  stored_bytes_ = claimed_bytes_ = at;
}

int64_t OutputLogWriter::dropped_bytes() const {
  const int64_t in_head = std::min(stored_bytes_, limits_.head_bytes);
  const int64_t oldest = std::max(limits_.head_bytes, claimed_bytes_ - limits_.tail_bytes);
  return written_bytes_ - in_head - std::max<int64_t>(0, stored_bytes_ - oldest);
}

// Best effort: a progress file that cannot be written costs live reading, and the order of a ring that has gone round,
// not the run.
void OutputLogWriter::Publish() {
  OutputProgress progress;
  progress.limits = limits_;
  progress.claimed_bytes = static_cast<uint64_t>(claimed_bytes_);
  progress.written_bytes = static_cast<uint64_t>(stored_bytes_);
  // While a piece is being written it is not printed yet; see the header for what a difference means.
  progress.printed_bytes = static_cast<uint64_t>(first_error_ == 0 ? stored_bytes_ : written_bytes_);
  auto bytes = EncodeOutputProgress(progress);
  [[maybe_unused]] ssize_t written = ::pwrite(progress_fd_, bytes.data(), bytes.size(), OutputProgressOffset(stream_));
}

// Asks the file system again for every quarter of what is to stay free. One that does not tell is not spared.
bool OutputLogWriter::LeavesRoom(int64_t size_bytes) {
  if (size_bytes <= may_grow_to_bytes_) return true;
  struct statvfs found = {};
  if (::fstatvfs(log_fd_, &found) != 0) return true;
  const auto block_bytes = static_cast<int64_t>(found.f_frsize);
  const int64_t spared_bytes = std::min(kSparedBytes, static_cast<int64_t>(found.f_blocks) * block_bytes / kSparedPart);
  const int64_t grows_by_bytes = size_bytes - may_grow_to_bytes_;
  if (static_cast<int64_t>(found.f_bavail) * block_bytes < spared_bytes + grows_by_bytes) return false;
  may_grow_to_bytes_ = size_bytes + spared_bytes / 4;
  return true;
}

// Returns how many bytes it wrote; fewer than asked for only with first_error_ set.
int64_t OutputLogWriter::WriteAt(int64_t offset_bytes, std::span<const char> bytes) {
  if (!LeavesRoom(offset_bytes + static_cast<int64_t>(bytes.size()))) {
    first_error_ = ENOSPC;
    return 0;
  }
  int64_t done = 0;
  while (done < static_cast<int64_t>(bytes.size())) {
    ssize_t count =
        ::pwrite(log_fd_, bytes.data() + done, bytes.size() - static_cast<size_t>(done), offset_bytes + done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      first_error_ = count < 0 ? errno : ENOSPC;
      break;
    }
    done += count;
  }
  return done;
}

namespace {

constexpr int kLookTries = 16;
constexpr int kReadTries = 4;
constexpr size_t kBlockBytes = 256 << 10;
constexpr int64_t kMostLogBytes = 2 * kMostOutputLimitBytes;

// Nothing also when the file is too short.
Result<std::optional<OutputProgress>> ReadProgressOnce(File& file, OutputStream stream) {
  std::array<char, kOutputProgressBytes> bytes{};
  ASSIGN_OR_RETURN(size_t size, file.ReadAt(OutputProgressOffset(stream), bytes));
  return size < bytes.size() ? std::nullopt : DecodeOutputProgress(bytes);
}

// A read that meets a write may see half of it; two looks that agree do not.
Result<std::optional<OutputProgress>> ReadProgress(File& file, OutputStream stream) {
  ASSIGN_OR_RETURN(std::optional<OutputProgress> last, ReadProgressOnce(file, stream));
  for (int i = 0; i < kLookTries; ++i) {
    ASSIGN_OR_RETURN(std::optional<OutputProgress> again, ReadProgressOnce(file, stream));
    if (again == last) break;
    last = again;
  }
  return last;
}

// The oldest byte behind the head that is still there.
int64_t OldestInRing(const OutputProgress& progress) {
  return std::max(progress.limits.head_bytes,
                  static_cast<int64_t>(progress.claimed_bytes) - progress.limits.tail_bytes);
}

// Where byte `at` lies, and how many from there on lie behind each other.
struct Extent {
  int64_t offset_bytes = 0;
  int64_t run_bytes = 0;
};

Extent ExtentOf(int64_t at, OutputLimits limits) {
  if (at < limits.head_bytes) return {at, limits.head_bytes - at};
  const int64_t in_ring = (at - limits.head_bytes) % limits.tail_bytes;
  return {limits.head_bytes + in_ring, limits.tail_bytes - in_ring};
}

// Bytes begin .. end of what was printed, to `take` block by block; ends early where the file does.
template <typename Take>
Status ReadPrinted(File& log, int64_t begin, int64_t end, OutputLimits limits, Take take) {
  std::string block;
  while (begin < end) {
    Extent extent = ExtentOf(begin, limits);
    int64_t count = std::min({end - begin, extent.run_bytes, static_cast<int64_t>(kBlockBytes)});
    block.resize(static_cast<size_t>(count));
    ASSIGN_OR_RETURN(size_t size, log.ReadAt(extent.offset_bytes, block));
    if (size == 0) return OkStatus();
    RETURN_IF_ERROR(take(std::span<const char>(block).first(size)));
    begin += static_cast<int64_t>(size);
  }
  return OkStatus();
}

std::string MarkerLine(int64_t dropped_bytes) {
  if (dropped_bytes == 0) return {};
  return "\n[kprof: " + std::to_string(dropped_bytes) + " bytes dropped here]\n";
}

// What a finished log consists of.
struct FinishedParts {
  int64_t head_end = 0;    // bytes 0 .. head_end
  int64_t tail_begin = 0;  // bytes tail_begin .. tail_end; before them a line for what lies between
  int64_t tail_end = 0;
  int64_t printed = 0;  // a line for what came after tail_end

  int64_t kept() const { return head_end + tail_end - tail_begin; }
  int64_t size() const {
    return kept() +
           static_cast<int64_t>(MarkerLine(tail_begin - head_end).size() + MarkerLine(printed - tail_end).size());
  }
};

// A writer that was killed between a write and its note of it: as long as the ring has not gone round, what is in the
// file is what was printed.
void TakeUnnotedBytes(OutputProgress& progress, int64_t raw_size_bytes) {
  const auto raw = static_cast<uint64_t>(raw_size_bytes);
  if (progress.printed_bytes != progress.written_bytes || raw <= progress.written_bytes) return;
  const auto room = static_cast<uint64_t>(progress.limits.head_bytes + progress.limits.tail_bytes);
  if (progress.claimed_bytes > room || raw > room) return;
  progress.claimed_bytes = progress.written_bytes = progress.printed_bytes = raw;
}

FinishedParts PartsOf(const OutputProgress& progress, int64_t raw_size_bytes) {
  const OutputLimits& limits = progress.limits;
  FinishedParts parts;
  const auto written = static_cast<int64_t>(progress.written_bytes);
  parts.printed = static_cast<int64_t>(progress.printed_bytes);
  parts.head_end = std::min({written, limits.head_bytes, raw_size_bytes});
  parts.tail_begin = parts.tail_end = parts.head_end;
  if (written > limits.head_bytes) {
    parts.tail_end = written;
    parts.tail_begin = limits.tail_bytes == 0 ? written : std::min(written, OldestInRing(progress));
    // A file that lost its end, in a crash of the machine: what is there of the ring no longer says which bytes it
    // holds, unless it has not gone round yet.
    const int64_t whole_size = std::min(written, limits.head_bytes + limits.tail_bytes);
    if (raw_size_bytes < whole_size) {
      const bool gone_round = written > limits.head_bytes + limits.tail_bytes;
      parts.tail_begin = parts.head_end;
      parts.tail_end = gone_round ? parts.head_end : std::max(parts.head_end, raw_size_bytes);
    }
  }
  // `finished` tells a finished file by its size, so it must differ from the raw one. Where nothing is left to drop,
  // FinishOutput cuts the raw one.
  while (parts.size() == raw_size_bytes && parts.size() != parts.kept() && parts.tail_begin < parts.tail_end) {
    ++parts.tail_begin;
  }
  // Of the ring nothing is kept: then one line counts all that is missing, as it does once the raw one has been cut.
  if (parts.tail_begin == parts.tail_end) parts.tail_begin = parts.tail_end = parts.head_end;
  return parts;
}

Result<std::string> SumFile(File& file, int64_t size_bytes) {
  Sha256 sum;
  std::string block(std::min(kBlockBytes, static_cast<size_t>(size_bytes)), '\0');
  for (int64_t at = 0; at < size_bytes;) {
    ASSIGN_OR_RETURN(size_t size, file.ReadAt(at, block));
    if (size == 0) break;
    sum.Add(std::span<const char>(block).first(size));
    at += static_cast<int64_t>(size);
  }
  return sum.Finish();
}

// Writes the finished form beside the log; returns its sum.
Result<std::string> WriteParts(Files& files, File& log, const std::string& partial_path, const FinishedParts& parts,
                               OutputLimits limits) {
  ASSIGN_OR_RETURN(std::unique_ptr<File> partial, files.Create(partial_path));
  Sha256 sum;
  auto append = [&](std::span<const char> bytes) -> Status {
    sum.Add(bytes);
    return partial->Append(bytes);
  };
  RETURN_IF_ERROR(ReadPrinted(log, 0, parts.head_end, limits, append));
  RETURN_IF_ERROR(append(MarkerLine(parts.tail_begin - parts.head_end)));
  RETURN_IF_ERROR(ReadPrinted(log, parts.tail_begin, parts.tail_end, limits, append));
  RETURN_IF_ERROR(append(MarkerLine(parts.printed - parts.tail_end)));
  RETURN_IF_ERROR(partial->Sync());
  return sum.Finish();
}

// Finishes the log as its first `end` bytes and a line for what came after them. The record tells of no more bytes
// before the first of them goes, so a crash at any point leaves a log that can be finished.
Status CutAt(File& log, File& progress_file, OutputStream stream, OutputProgress& progress, int64_t end,
             FinishedOutput& finished) {
  ASSIGN_OR_RETURN(const int64_t raw_size_bytes, log.ReadSize());
  const auto printed = static_cast<int64_t>(progress.printed_bytes);
  const auto size_with = [&] { return end + static_cast<int64_t>(MarkerLine(printed - end).size()); };
  while (end > 0 && size_with() == raw_size_bytes) --end;  // see PartsOf
  const std::string marker = MarkerLine(printed - end);
  finished.dropped_bytes = printed - end;
  finished.size_bytes = size_with();
  progress.claimed_bytes = progress.written_bytes = static_cast<uint64_t>(end);
  progress.finished_size_bytes = static_cast<uint64_t>(finished.size_bytes);
  progress.finished_dropped_bytes = static_cast<uint64_t>(finished.dropped_bytes);
  RETURN_IF_ERROR(progress_file.WriteAt(OutputProgressOffset(stream), EncodeOutputProgress(progress)));
  RETURN_IF_ERROR(progress_file.Sync());
  RETURN_IF_ERROR(log.Truncate(end));
  RETURN_IF_ERROR(log.WriteAt(end, marker));
  RETURN_IF_ERROR(log.Sync());
  ASSIGN_OR_RETURN(finished.sha256, SumFile(log, finished.size_bytes));
  return OkStatus();
}

// Where there is no room for a second copy.
Result<FinishedOutput> FinishInPlace(File& log, File& progress_file, OutputStream stream, OutputProgress progress,
                                     int64_t raw_size_bytes) {
  const auto room = static_cast<uint64_t>(progress.limits.head_bytes + progress.limits.tail_bytes);
  const int64_t in_order =
      progress.claimed_bytes > room ? progress.limits.head_bytes : static_cast<int64_t>(progress.written_bytes);
  const int64_t kept = std::min(in_order, raw_size_bytes);
  FinishedOutput finished;
  finished.printed_bytes = static_cast<int64_t>(progress.printed_bytes);
  Status cut = CutAt(log, progress_file, stream, progress, kept, finished);
  if (cut.code() == ErrorCode::kStorageFull) {
    const int64_t less = kept - std::min(kGivenBytes, kept / 2);
    cut = CutAt(log, progress_file, stream, progress, less, finished);
  }
  if (!cut.ok()) return cut;
  return finished;
}

}  // namespace

Result<OutputPiece> ReadLiveOutput(Files& files, const std::string& log_path, const std::string& progress_path,
                                   OutputStream stream, int64_t offset, int64_t limit_bytes) {
  ASSIGN_OR_RETURN(std::unique_ptr<File> progress_file, files.OpenForRead(progress_path));
  ASSIGN_OR_RETURN(std::unique_ptr<File> log, files.OpenForRead(log_path));
  const int64_t asked_offset = std::max<int64_t>(0, offset);
  OutputPiece piece;
  piece.next_offset = asked_offset;
  for (int i = 0; i < kReadTries; ++i) {
    ASSIGN_OR_RETURN(std::optional<OutputProgress> before, ReadProgress(*progress_file, stream));
    if (!before) return piece;
    const OutputLimits limits = before->limits;
    piece.limits = limits;
    const auto written = static_cast<int64_t>(before->written_bytes);
    const auto printed = static_cast<int64_t>(before->printed_bytes);
    int64_t begin = asked_offset;
    if (begin >= limits.head_bytes) begin = std::max(begin, std::min(written, OldestInRing(*before)));
    if (begin >= written) {
      // Nothing new, or only bytes that are gone.
      piece.next_offset = std::max(asked_offset, printed);
      piece.dropped_bytes = piece.next_offset - asked_offset;
      return piece;
    }
    int64_t end = std::min(written, begin + std::max<int64_t>(0, limit_bytes));
    if (begin < limits.head_bytes) end = std::min(end, limits.head_bytes);  // behind the head there may be a gap
    piece.bytes.clear();
    RETURN_IF_ERROR(ReadPrinted(*log, begin, end, limits, [&](std::span<const char> bytes) {
      piece.bytes.append(bytes.data(), bytes.size());
      return OkStatus();
    }));
    ASSIGN_OR_RETURN(std::optional<OutputProgress> after, ReadProgress(*progress_file, stream));
    if (!after || after->limits != limits) {  // nothing can be told of what was read
      piece.bytes.clear();
      return piece;
    }
    if (begin >= limits.head_bytes) {
      const int64_t overtaken =
          std::clamp<int64_t>(OldestInRing(*after) - begin, 0, static_cast<int64_t>(piece.bytes.size()));
      piece.bytes.erase(0, static_cast<size_t>(overtaken));
      begin += overtaken;
    }
    piece.dropped_bytes = begin - asked_offset;
    piece.next_offset = begin + static_cast<int64_t>(piece.bytes.size());
    if (!piece.bytes.empty() || limit_bytes <= 0) break;
  }
  return piece;
}

Result<FinishedOutput> FinishOutput(Files& files, const std::string& log_path, const std::string& progress_path,
                                    OutputStream stream) {
  FinishedOutput finished;
  Result<std::unique_ptr<File>> opened = files.OpenForWrite(log_path);
  if (!opened.ok() && opened.status().code() == ErrorCode::kNotFound) return finished;
  if (!opened.ok()) return opened.status();
  File& log = **opened;
  ASSIGN_OR_RETURN(int64_t raw_size_bytes, log.ReadSize());
  const std::string partial_path = log_path + ".partial";
  RETURN_IF_ERROR(files.Remove(partial_path));  // of an earlier try

  std::optional<OutputProgress> progress;
  Result<std::unique_ptr<File>> progress_file = files.OpenForWrite(progress_path);
  if (progress_file.ok()) {
    ASSIGN_OR_RETURN(progress, ReadProgress(**progress_file, stream));
  } else if (progress_file.status().code() != ErrorCode::kNotFound) {
    return progress_file.status();
  }

  if (!progress && raw_size_bytes > kMostLogBytes) {
    // No writer left that. Summing what somebody made of a hole would take a worker's hours.
    RETURN_IF_ERROR(log.Truncate(kMostLogBytes));
    raw_size_bytes = kMostLogBytes;
  }
  FinishedParts parts;
  const bool finished_before = progress && progress->finished_size_bytes != 0 &&
                               raw_size_bytes == static_cast<int64_t>(progress->finished_size_bytes);
  if (!progress) {
    parts = {raw_size_bytes, raw_size_bytes, raw_size_bytes, raw_size_bytes};
    finished.printed_bytes = raw_size_bytes;
  } else if (finished_before) {
    finished.printed_bytes = static_cast<int64_t>(progress->printed_bytes);
    finished.dropped_bytes = static_cast<int64_t>(progress->finished_dropped_bytes);
  } else {
    TakeUnnotedBytes(*progress, raw_size_bytes);
    parts = PartsOf(*progress, raw_size_bytes);
    finished.printed_bytes = parts.printed;
    finished.dropped_bytes = parts.printed - parts.kept();
  }
  if (finished_before || (parts.kept() == raw_size_bytes && parts.size() == raw_size_bytes)) {
    finished.size_bytes = raw_size_bytes;
    if (raw_size_bytes == 0) {
      RETURN_IF_ERROR(files.Remove(log_path));
      return finished;
    }
    RETURN_IF_ERROR(log.Sync());
    ASSIGN_OR_RETURN(finished.sha256, SumFile(log, raw_size_bytes));
    return finished;
  }

  if (parts.size() == 0) {  // the ring's first bytes were being written, and none of them can be told
    RETURN_IF_ERROR(files.Remove(log_path));
    return finished;
  }
  Result<std::string> sum = WriteParts(files, log, partial_path, parts, progress->limits);
  if (sum.status().code() == ErrorCode::kStorageFull) {
    RETURN_IF_ERROR(files.Remove(partial_path));
    return FinishInPlace(log, **progress_file, stream, *progress, raw_size_bytes);
  }
  ASSIGN_OR_RETURN(finished.sha256, std::move(sum));
  finished.size_bytes = parts.size();
  if (finished.size_bytes == raw_size_bytes) {
    // Nothing behind the head is kept, and a line happens to be as long: see PartsOf.
    RETURN_IF_ERROR(log.Truncate(parts.head_end));
    RETURN_IF_ERROR(log.Sync());
  }
  progress->finished_size_bytes = static_cast<uint64_t>(finished.size_bytes);
  progress->finished_dropped_bytes = static_cast<uint64_t>(finished.dropped_bytes);
  RETURN_IF_ERROR((*progress_file)->WriteAt(OutputProgressOffset(stream), EncodeOutputProgress(*progress)));
  RETURN_IF_ERROR((*progress_file)->Sync());
  RETURN_IF_ERROR(files.Rename(partial_path, log_path));
  return finished;
}

Result<std::optional<LogGap>> FindGap(File& log, int64_t dropped_bytes) {
  const std::string line = MarkerLine(dropped_bytes);
  std::string block;
  for (int64_t at = 0; !line.empty();) {
    block.resize(kBlockBytes);
    ASSIGN_OR_RETURN(const size_t size, log.ReadAt(at, block));
    block.resize(size);
    const size_t found = block.find(line);
    if (found != std::string::npos) {
      const LogGap gap{at + static_cast<int64_t>(found), static_cast<int64_t>(line.size()), dropped_bytes};
      return std::optional(gap);
    }
    if (size < line.size()) break;
    at += static_cast<int64_t>(size - (line.size() - 1));  // it may lie across the border
  }
  return std::optional<LogGap>();
}

}  // namespace kprof

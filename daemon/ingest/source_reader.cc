#include "daemon/ingest/source_reader.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "daemon/ingest/chrome_reader.h"
#include "daemon/ingest/depth_warnings.h"
#include "daemon/ingest/nsys_reader.h"
#include "daemon/ingest/packed_text.h"
#include "daemon/ingest/plain_text.h"
#include "daemon/ingest/source_hash.h"
#include "daemon/ingest/source_kind.h"
#include "daemon/ingest/trace_assembler.h"

namespace kprof {
namespace {

constexpr int64_t kShareOfSamples = 24;  // of all texts, those of counters, for each of a few readers
constexpr size_t kMostWarnings = 100;
// What sources are read as: Kineto's traces are Chrome's.
constexpr std::string_view kChrome = "chrome";
constexpr std::string_view kNsys = "nsys-sqlite";
constexpr std::array<std::string_view, 4> kFormats = {"auto", "kineto", kChrome, kNsys};

// What a reader gives, on its way into the part.
class Filling : public BatchSink {
 public:
  Filling(PartSink& part, WorkerPool& pool, const SourceReading& reading, const SourceProgress& progress,
          const std::stop_token& stop)
      : part_(part),
        progress_(progress),
        stop_(stop),
        assembler_(part, pool,
                   {.text_bytes = reading.limits.text_bytes,
                    .tracks = reading.limits.tracks,
                    .shapes = reading.limits.shapes}) {}

  Status Take(TraceBatch batch) override { return assembler_.Add(std::move(batch)); }

  Status SetFact(std::string_view name, std::string_view text) override { return part_.SetFact(name, text); }
  Status SetFact(std::string_view name, int64_t value) override {
    if (name == "time_zero_ns") {
      assembler_.CountFrom(value);
      return OkStatus();
    }
    if (name != "base_unix_ns") return part_.SetFact(name, value);
    base_unix_ns_ = value;
    return OkStatus();
  }
  void Warn(std::string what) override {
    if (warnings_.size() < kMostWarnings) warnings_.push_back(std::move(what));
  }
  Status Progress(int64_t bytes, int64_t events) override {
    events_ = events;
    progress_(bytes, events);
    return stop_.stop_requested() ? Fail(ErrorCode::kCancelled, "read it", "it was cancelled") : OkStatus();
  }

  Status Finish() {
    RETURN_IF_ERROR(assembler_.Finish());
    // The reader's time 0; the part's is the assembler's.
    if (assembler_.base_ns()) RETURN_IF_ERROR(part_.SetFact("base_source_ns", *assembler_.base_ns()));
    int64_t base = 0;
    if (base_unix_ns_ && !__builtin_add_overflow(*base_unix_ns_, assembler_.base_ns().value_or(0), &base)) {
      RETURN_IF_ERROR(part_.SetFact("base_unix_ns", base));
    }
    if (events_ == 0) Warn("it has no events");
    if (assembler_.begins_alone() > 0) Warn(std::to_string(assembler_.begins_alone()) + " slices begin and never end");
    if (assembler_.ends_alone() > 0) Warn(std::to_string(assembler_.ends_alone()) + " ends have no begin");
    if (assembler_.ends_early() > 0)
      Warn(std::to_string(assembler_.ends_early()) +
           " slices end before they begin, as begins and ends are paired in the order of the file: they have no end");
    if (assembler_.ends_misnamed() > 0)
      Warn(std::to_string(assembler_.ends_misnamed()) +
           " slices end with an event of another name, as begins and ends are paired in the order of the file");
    for (std::string& warning : DepthWarnings({.crowded = assembler_.crowded_slices()})) Warn(std::move(warning));
    if (assembler_.spans_given_up() > 0)
      Warn(std::to_string(assembler_.spans_given_up()) + " slices have no end: too many others began before it came");
    for (size_t i = 0; i < warnings_.size(); ++i) {
      RETURN_IF_ERROR(part_.SetFact("warning." + std::to_string(i + 1), warnings_[i]));
    }
    return OkStatus();
  }

  std::vector<std::string> TakeWarnings() { return std::move(warnings_); }

 private:
  PartSink& part_;
  const SourceProgress& progress_;
  const std::stop_token& stop_;
  TraceAssembler assembler_;
  int64_t events_ = 0;
  std::optional<int64_t> base_unix_ns_;
  std::vector<std::string> warnings_;
};

// Of a source, or of its text.
template <typename Bytes>
Result<std::vector<char>> ReadFirst(Bytes& from) {
  std::vector<char> first(kSniffBytes);
  ASSIGN_OR_RETURN(const size_t size, from.ReadAt(0, first));
  first.resize(size);
  return first;
}

Result<std::unique_ptr<TextSource>> OpenText(const SourceFile& source, const SourceReading& reading) {
  ASSIGN_OR_RETURN(const std::vector<char> first, ReadFirst(source));
  const PackedTextLimits limits{.text_bytes = reading.unpacked_bytes};
  if (LooksLikeGzip(first)) return OpenPackedText(source, MakeGzipUnpacker(), limits);
  if (LooksLikeZstd(first)) return OpenPackedText(source, MakeZstdUnpacker(), limits);
  return OpenPlainText(source);
}

Status IsPackedDatabase() {
  return Fail(ErrorCode::kBadInput, "read it as an Nsight Systems export", "it is packed",
              "unpack it first: of packed files only Chrome and Kineto traces are read");
}

Status IsDatabase() {
  return Fail(ErrorCode::kBadInput, "read it as a Chrome trace", "it is an SQLite database",
              "leave --format out, or give nsys-sqlite: exports of Nsight Systems are such databases");
}

Status IsNoDatabase(std::span<const char> first) {
  constexpr const char* kWhat = "read it as an Nsight Systems export";
  if (LooksLikeChrome(first)) {
    return Fail(ErrorCode::kBadInput, kWhat, "it looks like JSON, as Chrome and Kineto traces do",
                "leave --format out, or give chrome");
  }
  return Fail(ErrorCode::kBadInput, kWhat, "it is no SQLite database",
              "leave --format out, or export it with nsys export --type sqlite");
}

Result<std::string> ReadAsChrome(const SourceFile& source, bool is_packed, const SourceReading& reading,
                                 WorkerPool& pool, Filling& filling, const std::stop_token& stop) {
  ASSIGN_OR_RETURN(const std::unique_ptr<TextSource> text, OpenText(source, reading));
  ASSIGN_OR_RETURN(const std::vector<char> first, ReadFirst(*text));
  if (LooksLikeNsys({first.data(), first.size()})) return is_packed ? IsPackedDatabase() : IsDatabase();
  if (!LooksLikeChrome(first)) {
    const std::optional<Status> cut = text->WhyCut();
    return first.empty() && cut ? *cut : NoKnownFormat(first);
  }
  const auto sample_text_bytes = static_cast<size_t>(reading.limits.text_bytes / kShareOfSamples);
  RETURN_IF_ERROR(ReadChrome(*text, pool, filling,
                             {.readers = reading.threads,
                              .most_event_bytes = reading.limits.event_bytes,
                              .sample_text_bytes = sample_text_bytes}));
  const bool was_cut = text->WhyCut().has_value();  // of which the reader has warned
  ASSIGN_OR_RETURN(std::string hash, text->FinishHash(stop));
  const std::optional<Status> cut = text->WhyCut();
  if (hash.empty() && cut && !was_cut) filling.Warn("all of its trace was read; " + cut->why());
  RETURN_IF_ERROR(filling.Finish());
  return hash;
}

Result<std::string> ReadAsNsys(const SourceFile& source, bool is_packed, const SourceReading& reading, Filling& filling,
                               const std::stop_token& stop) {
  {
    ASSIGN_OR_RETURN(const std::unique_ptr<TextSource> text, OpenText(source, reading));
    ASSIGN_OR_RETURN(const std::vector<char> first, ReadFirst(*text));
    if (!LooksLikeNsys({first.data(), first.size()})) return IsNoDatabase(first);
  }
  if (is_packed) return IsPackedDatabase();
  RETURN_IF_ERROR(source.WaitUntilWhole());  // a database is read from all over
  RETURN_IF_ERROR(ReadNsys(source, filling));
  RETURN_IF_ERROR(filling.Finish());
  ASSIGN_OR_RETURN(std::string hash, HashSource(source, stop));
  if (hash.empty()) {  // what was read of a database that changed is none
    return Fail(ErrorCode::kBadInput, "read it as an Nsight Systems export", "it became shorter while it was read");
  }
  return hash;
}

}  // namespace

Result<ReadSourceResult> ReadSource(const SourceFile& source, const SourceReading& reading, WorkerPool& pool,
                                    PartSink& part, const SourceProgress& progress, const std::stop_token& stop) {
  if (std::find(kFormats.begin(), kFormats.end(), reading.format) == kFormats.end()) {
    return Fail(ErrorCode::kUsage, "read " + source.name(), "there is no format \"" + reading.format + "\"");
  }
  ASSIGN_OR_RETURN(const std::vector<char> first, ReadFirst(source));
  if (first.empty()) return Fail(ErrorCode::kNotFound, "read " + source.name(), "it is empty");
  const bool is_packed = LooksLikeGzip(first) || LooksLikeZstd(first);
  const bool is_nsys =
      reading.format == kNsys || (reading.format == "auto" && LooksLikeNsys({first.data(), first.size()}));
  Filling filling(part, pool, reading, progress, stop);
  Result<std::string> hash = is_nsys ? ReadAsNsys(source, is_packed, reading, filling, stop)
                                     : ReadAsChrome(source, is_packed, reading, pool, filling, stop);
  if (!hash.ok()) return hash.status().In("read " + source.name());
  ReadSourceResult result;
  result.format = is_nsys ? kNsys : kChrome;
  result.hash = *std::move(hash);
  result.warnings = filling.TakeWarnings();
  return result;
}

std::span<const std::string_view> SourceFormats() {
  return kFormats;
}

std::optional<std::string> FormatReadAs(std::string_view format) {
  if (format == kFormats[0]) return std::nullopt;
  return std::string(format == kNsys ? kNsys : kChrome);
}

}  // namespace kprof

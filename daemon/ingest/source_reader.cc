#include "daemon/ingest/source_reader.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "daemon/ingest/assemble/looking_sink.h"
#include "daemon/ingest/assemble/trace_assembler.h"
#include "daemon/ingest/source/source_formats.h"
#include "daemon/ingest/source/source_hash.h"
#include "daemon/ingest/source/text_source.h"

namespace kprof {
namespace {

constexpr size_t kMostWarnings = 100;

// A look sees so much of the beginning of a text, and so much of its end; that of a packed text only where it is not
// longer than this.
constexpr int64_t kLookedAtHeadBytes = int64_t{4} << 20;
constexpr size_t kLookedAtEndBytes = 256 << 10;
constexpr int64_t kMostUnpackedBytes = int64_t{64} << 20;

// What a reader gives, on its way into the part.
class AssemblingSink : public BatchSink {
 public:
  AssemblingSink(PartSink& part, WorkerPool& pool, const SourceReading& reading, const SourceProgress& progress,
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
  void NameFormat(std::string_view name) override { format_ = name; }
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

  // Empty: the source says no closer name.
  const std::string& format() const { return format_; }
  std::vector<std::string> TakeWarnings() { return std::move(warnings_); }

 private:
  PartSink& part_;
  const SourceProgress& progress_;
  const std::stop_token& stop_;
  TraceAssembler assembler_;
  int64_t events_ = 0;
  std::optional<int64_t> base_unix_ns_;
  std::string format_;
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

Result<std::unique_ptr<TextSource>> OpenText(const SourceFile& source, std::span<const char> first,
                                             const SourceReading& reading) {
  const PackedTextLimits limits{.text_bytes = reading.unpacked_bytes};
  if (LooksLikeGzip(first)) return OpenPackedText(source, MakeGzipUnpacker(), limits);
  if (LooksLikeZstd(first)) return OpenPackedText(source, MakeZstdUnpacker(), limits);
  return OpenPlainText(source);
}

Status IsPackedDatabase(const SourceFormat& format) {
  return Fail(ErrorCode::kBadInput, "read it as " + std::string(format.what), "it is packed",
              "unpack it first: of packed files only texts are read, as Chrome and Kineto traces are");
}

Status IsNone(const SourceFormat& asked, const SourceFormat* looks_like) {
  const std::string act = "read it as " + std::string(asked.what);
  constexpr const char* kRemedy = "leave --format out, or ";
  if (looks_like == nullptr) {
    return Fail(ErrorCode::kBadInput, act, std::string(asked.is_none), kRemedy + std::string(asked.remedy));
  }
  return Fail(ErrorCode::kBadInput, act, std::string(looks_like->looks),
              kRemedy + ("give " + std::string(looks_like->name)));
}

struct Sniffed {
  const SourceFormat* format = nullptr;
  bool is_packed = false;
  std::unique_ptr<TextSource> text;
};

// What it is read as: what it was said to be, else what it looks like.
Result<Sniffed> Sniff(const SourceFile& source, const SourceReading& reading) {
  Sniffed sniffed;
  ASSIGN_OR_RETURN(const std::vector<char> bytes, ReadFirst(source));
  if (bytes.empty()) return Fail(ErrorCode::kNotFound, "read it", "it is empty", kEmptyRemedy);
  ASSIGN_OR_RETURN(sniffed.text, OpenText(source, bytes, reading));
  ASSIGN_OR_RETURN(const std::vector<char> first, ReadFirst(*sniffed.text));
  const SourceFormat* looks_like = SniffSourceFormat(first);
  sniffed.format = reading.format == kAnyFormat ? looks_like : FindSourceFormat(reading.format);
  sniffed.is_packed = LooksLikeGzip(bytes) || LooksLikeZstd(bytes);
  if (sniffed.is_packed && looks_like != nullptr && !looks_like->is_text) return IsPackedDatabase(*looks_like);
  if (sniffed.format != nullptr && sniffed.format->begins_anyhow && !first.empty()) return sniffed;
  if (sniffed.format == nullptr || (sniffed.format->is_text && looks_like == nullptr)) {
    const std::optional<Status> cut = sniffed.text->WhyCut();
    return first.empty() && cut ? *cut : NoKnownFormat(first);
  }
  if (sniffed.format != looks_like) return IsNone(*sniffed.format, looks_like);
  return sniffed;
}

Result<std::string> HashText(TextSource& text, AssemblingSink& filling, const std::stop_token& stop) {
  const bool was_cut = text.WhyCut().has_value();  // of which the reader has warned
  ASSIGN_OR_RETURN(std::string hash, text.FinishHash(stop));
  const std::optional<Status> cut = text.WhyCut();
  if (hash.empty() && cut && !was_cut) filling.Warn("all of its trace was read; " + cut->why());
  return hash;
}

Result<std::string> HashDatabase(const SourceFile& source, const SourceFormat& format, const std::stop_token& stop) {
  ASSIGN_OR_RETURN(std::string hash, HashSource(source, stop));
  if (!hash.empty()) return hash;
  // What was read of a database that changed is none.
  return Fail(ErrorCode::kBadInput, "read it as " + std::string(format.what), "it became shorter while it was read",
              "import it again once nobody writes it");
}

Result<ReadSourceResult> Read(const SourceFile& source, const SourceReading& reading, WorkerPool& pool,
                              AssemblingSink& filling, const std::stop_token& stop) {
  ASSIGN_OR_RETURN(const Sniffed sniffed, Sniff(source, reading));
  const SourceFormat& format = *sniffed.format;
  const auto open_again = [&]() -> Result<std::unique_ptr<TextSource>> {
    ASSIGN_OR_RETURN(const std::vector<char> first, ReadFirst(source));
    return OpenText(source, first, reading);
  };
  RETURN_IF_ERROR(
      format.read({source, *sniffed.text, pool, reading.threads, reading.limits, false, open_again}, filling));
  ReadSourceResult result;
  result.format = filling.format().empty() ? format.name : filling.format();
  ASSIGN_OR_RETURN(result.hash,
                   format.is_text ? HashText(*sniffed.text, filling, stop) : HashDatabase(source, format, stop));
  RETURN_IF_ERROR(filling.Finish());
  result.warnings = filling.TakeWarnings();
  return result;
}

}  // namespace

Result<ReadSourceResult> ReadSource(const SourceFile& source, const SourceReading& reading, WorkerPool& pool,
                                    PartSink& part, const SourceProgress& progress, const std::stop_token& stop) {
  const std::string act = "read " + source.name();
  if (reading.format != kAnyFormat && FindSourceFormat(reading.format) == nullptr) {
    return Fail(ErrorCode::kUsage, act, "there is no format \"" + reading.format + "\"");
  }
  AssemblingSink filling(part, pool, reading, progress, stop);
  Result<ReadSourceResult> read = Read(source, reading, pool, filling, stop);
  if (!read.ok()) return read.status().In(act);
  return read;
}

Result<SourceFacts> LookAtSource(const SourceFile& source, const SourceReading& reading, WorkerPool& pool) {
  const auto look = [&]() -> Result<SourceFacts> {
    ASSIGN_OR_RETURN(const Sniffed sniffed, Sniff(source, reading));
    const SourceFormat& format = *sniffed.format;
    LookingSink sink(!format.is_text, format.joins_trace, format.is_table);
    TextHead head(*sniffed.text, kLookedAtHeadBytes);
    const Status read = format.read({source, head, pool, reading.threads, reading.limits, true, {}}, sink);
    if (!read.ok() && !sink.has_enough() && !head.was_cut()) return read;
    if (format.read_end == nullptr || sink.has_enough() || !head.was_cut()) return sink.TakeFacts();
    // A packed text has to be unpacked up to its end. Its beginning tells about how long that takes.
    const int64_t packed_head_bytes = std::max<int64_t>(sniffed.text->SourceBytesAt(kLookedAtHeadBytes - 1), 1);
    const bool is_long = source.size_bytes() / packed_head_bytes > 2 * kMostUnpackedBytes / kLookedAtHeadBytes;
    if (sniffed.is_packed && is_long) return sink.TakeFacts();
    const int64_t end_bytes = source.size_bytes() - static_cast<int64_t>(kLookedAtEndBytes);
    const int64_t from_bytes = sniffed.is_packed ? kLookedAtHeadBytes : std::max(kLookedAtHeadBytes, end_bytes);
    const int64_t until_bytes = sniffed.is_packed ? kMostUnpackedBytes : source.size_bytes();
    ASSIGN_OR_RETURN(const std::optional<std::string> end,
                     ReadTextEnd(*sniffed.text, from_bytes, until_bytes, kLookedAtEndBytes));
    // Its failure is that enough is known.
    if (end) (void)format.read_end(*end, sink);
    return sink.TakeFacts();
  };
  Result<SourceFacts> facts = look();
  if (!facts.ok()) return facts.status().In("read " + source.name());
  return facts;
}

}  // namespace kprof

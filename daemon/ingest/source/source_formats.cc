#include "daemon/ingest/source/source_formats.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "daemon/ingest/chrome/chrome_reader.h"
#include "daemon/ingest/event/event_reader.h"
#include "daemon/ingest/nccl/inspector_reader.h"
#include "daemon/ingest/ncu/ncu_csv_reader.h"
#include "daemon/ingest/ncu/ncu_report_reader.h"
#include "daemon/ingest/neuron/neuron_json_reader.h"
#include "daemon/ingest/neuron/neuron_parquet_reader.h"
#include "daemon/ingest/neuron/nkipy_reader.h"
#include "daemon/ingest/neuron/system_trace_reader.h"
#include "daemon/ingest/nsys/nsys_reader.h"
#include "daemon/ingest/parquet/parquet_file.h"
#include "daemon/ingest/perfetto/perfetto_reader.h"
#include "daemon/ingest/scalene/scalene_reader.h"
#include "daemon/ingest/source/text_source.h"

namespace kprof {
namespace {

constexpr int64_t kForAnything = int64_t{192} << 20;  // of address space, for the rows that are under way
constexpr double kLeast = 1.0 / 64;

}  // namespace

ReadingLimits ReadingLimitsFor(int64_t memory_bytes) {
  const double share = std::clamp(
      static_cast<double>(memory_bytes - kForAnything) / static_cast<double>(kMemoryForAllLimits - kForAnything),
      kLeast, 1.0);
  const auto part_of = [share](auto most) { return static_cast<decltype(most)>(share * static_cast<double>(most)); };
  const ReadingLimits all;
  return {part_of(all.text_bytes), part_of(all.tracks), part_of(all.shapes), part_of(all.event_bytes)};
}

SourceKind KindOf(std::span<const char> first) {
  if (LooksLikeGzip(first) || LooksLikeZstd(first)) return SourceKind::kPackedText;
  const SourceFormat* format = SniffSourceFormat(first);
  if (format == nullptr) return SourceKind::kUnknown;
  return format->is_text ? SourceKind::kText : SourceKind::kDatabase;
}

Status NoKnownFormat(std::span<const char> first) {
  constexpr const char* kWhat = "find out what it is";
  if (first.empty()) return Fail(ErrorCode::kNotFound, kWhat, "it is empty: nothing is packed in it", kEmptyRemedy);
  if (std::string_view(first.data(), first.size()).find_first_not_of(" \t\r\n") == std::string_view::npos) {
    return Fail(
        ErrorCode::kNotFound, kWhat,
        first.size() < kSniffBytes ? "it is empty: it has white space alone" : "it begins with nothing but white space",
        kEmptyRemedy);
  }
  return Fail(
      ErrorCode::kNotFound, kWhat, "it is of no format that is known here",
      "give a Chrome or Kineto trace, a Scalene profile, a log of NCCL Inspector, a record of an event run, a kernel "
      "profile of nkipy, a system "
      "trace or a device profile of Neuron (JSON), a Perfetto trace (.pftrace), a report of Nsight Compute (.ncu-rep) "
      "or its CSV, each also as .gz or .zst, tables of Neuron (.parquet), or an SQLite export of Nsight "
      "Systems; "
      "archives (.tar, .zip, .xz) are unpacked first");
}

namespace {

constexpr int64_t kLookedAtBytes = 256 << 10;  // at once, of a source of which the first events are wanted
constexpr int64_t kShareOfSamples = 24;        // of all texts, those of counters, for each of a few readers

Status ReadAsChrome(const OpenSource& source, BatchSink& sink) {
  const ChromeReaderOptions usual;
  return ReadChrome(source.text, source.pool, sink,
                    {.readers = source.threads,
                     .piece_bytes = source.is_look ? kLookedAtBytes : usual.piece_bytes,
                     .most_event_bytes = source.limits.event_bytes,
                     .sample_text_bytes = static_cast<size_t>(source.limits.text_bytes / kShareOfSamples)});
}

Status ReadAsNsys(const OpenSource& source, BatchSink& sink) {
  RETURN_IF_ERROR(source.file.WaitUntilWhole());  // a database is read from all over
  return ReadNsys(source.file, sink);
}

bool LooksLikeDatabase(std::span<const char> first) {
  return LooksLikeNsys({first.data(), first.size()});
}

Status ReadAsScalene(const OpenSource& source, BatchSink& sink) {
  return ReadScalene(source.text, sink, source.limits.event_bytes);
}

Status ReadAsNcclInspector(const OpenSource& source, BatchSink& sink) {
  return ReadNcclInspector(source.text, sink, source.limits.event_bytes);
}

Status ReadAsEvent(const OpenSource& source, BatchSink& sink) {
  return source.is_look ? OkStatus() : ReadEventSamples(source.text, sink);
}

Status ReadAsNkipy(const OpenSource& source, BatchSink& sink) {
  return ReadNkipy(source.text, sink, source.limits.event_bytes);
}

Status ReadAsNeuronSystem(const OpenSource& source, BatchSink& sink) {
  return ReadNeuronSystem(source.text, sink, source.limits.event_bytes);
}

// A report says nothing of a job: a look at it ends at once.
Status ReadAsNcuCsv(const OpenSource& source, BatchSink& sink) {
  return source.is_look ? OkStatus() : ReadNcuCsv(source.text, sink, source.limits.event_bytes);
}

constexpr int64_t kShareOfNames = 3;  // of all texts, and of all code

Status ReadAsNcuReport(const OpenSource& source, BatchSink& sink) {
  if (source.is_look) return OkStatus();
  return ReadNcuReport(source.text, sink,
                       {.entry_bytes = source.limits.event_bytes,
                        .names_bytes = source.limits.text_bytes / kShareOfNames,
                        .source_bytes = source.limits.text_bytes * 2 / kShareOfNames});
}

constexpr int64_t kShareOfOperands = 4;  // of all texts

ProfileLimits NeuronLimits(const OpenSource& source) {
  return {.operand_bytes = source.limits.text_bytes / kShareOfOperands};
}

// A device profile says nothing of a job: a look at it ends at once.
Status ReadAsNeuronJson(const OpenSource& source, BatchSink& sink) {
  if (source.is_look) return OkStatus();
  ASSIGN_OR_RETURN(const std::unique_ptr<TextSource> first, source.open_again());
  return ReadNeuronJson(first.get(), source.text, sink, source.limits.event_bytes, NeuronLimits(source));
}

Status ReadAsNeuronParquet(const OpenSource& source, BatchSink& sink) {
  return source.is_look ? OkStatus() : ReadNeuronParquet(source.file, sink, NeuronLimits(source));
}

constexpr int64_t kShareOfSurvey = 3;  // of address space, for what is known of slices before they are read
constexpr int64_t kTextShareOfFlows = 48;

Status ReadAsPerfetto(const OpenSource& source, BatchSink& sink) {
  PerfettoLimits limits;
  limits.packets.packet_bytes = source.limits.event_bytes;
  limits.survey.tracks = source.limits.tracks;
  limits.survey.bytes = source.limits.text_bytes * kShareOfSurvey / 2;
  limits.survey.flows = static_cast<size_t>(source.limits.text_bytes / kTextShareOfFlows);
  if (source.is_look) return ReadPerfetto(nullptr, source.text, sink, limits);
  ASSIGN_OR_RETURN(const std::unique_ptr<TextSource> first, source.open_again());
  return ReadPerfetto(first.get(), source.text, sink, limits);
}

// The first one that a source looks like is its: a profile of Scalene looks like JSON, too, and so may the first bytes
// of a Perfetto trace, which are a line break and a number.
constexpr SourceFormat kFormats[] = {
    {.name = "perfetto",
     .alias = "pftrace",
     .what = "a Perfetto trace",
     .looks = "it looks like a Perfetto trace (protocol buffers)",
     .is_none = "",
     .remedy = "",
     .looks_like = LooksLikePerfetto,
     .read = ReadAsPerfetto},
    {.name = "scalene",
     .alias = "",
     .joins_trace = true,
     .what = "a Scalene profile",
     .looks = "it looks like a profile of Scalene",
     .is_none = "",
     .remedy = "",
     .looks_like = LooksLikeScalene,
     .read = ReadAsScalene},
    {.name = "event",
     .alias = "",
     .what = "the record of an event run",
     .looks = "it looks like the record of an event run",
     .is_none = "",
     .remedy = "",
     .looks_like = LooksLikeEventSamples,
     .read = ReadAsEvent},
    {.name = "nccl-inspector",
     .alias = "",
     .joins_trace = true,
     .what = "a log of NCCL Inspector",
     .looks = "it looks like a log of NCCL Inspector",
     .is_none = "",
     .remedy = "",
     .looks_like = LooksLikeNcclInspector,
     .read = ReadAsNcclInspector},
    {.name = "nkipy",
     .alias = "",
     .what = "an nkipy kernel profile",
     .looks = "it looks like a kernel profile of nkipy",
     .is_none = "",
     .remedy = "",
     .looks_like = LooksLikeNkipy,
     .read = ReadAsNkipy},
    {.name = "neuron-system",
     .alias = "",
     .joins_trace = true,
     .leads = true,
     .begins_anyhow = true,
     .what = "a Neuron system trace",
     .looks = "it looks like a system trace of AWS Neuron",
     .is_none = "",
     .remedy = "",
     .looks_like = LooksLikeNeuronSystem,
     .read = ReadAsNeuronSystem},
    {.name = "ncu-rep",
     .alias = "",
     .what = "a report of Nsight Compute",
     .looks = "it looks like a report of Nsight Compute",
     .is_none = "",
     .remedy = "",
     .looks_like = LooksLikeNcuReport,
     .read = ReadAsNcuReport},
    {.name = "ncu-csv",
     .alias = "",
     .begins_anyhow = true,
     .what = "CSV of Nsight Compute",
     .looks = "it looks like CSV of Nsight Compute",
     .is_none = "",
     .remedy = "",
     .looks_like = LooksLikeNcuCsv,
     .read = ReadAsNcuCsv},
    {.name = "neuron-json",
     .alias = "",
     .is_profile = true,
     .begins_anyhow = true,
     .what = "a device profile of Neuron",
     .looks = "it looks like a device profile of Neuron",
     .is_none = "",
     .remedy = "",
     .looks_like = LooksLikeNeuronJson,
     .read = ReadAsNeuronJson},
    {.name = "neuron-parquet",
     .alias = "",
     .is_text = false,
     .is_table = true,
     .what = "a table of a Neuron device profile or system trace",
     .looks = "it is Parquet, as tables of Neuron device profiles and system traces are",
     .is_none = "it is no Parquet",
     .remedy = "have neuron-explorer write it: view --output-format parquet",
     .looks_like = LooksLikeParquet,
     .read = ReadAsNeuronParquet},
    {.name = "chrome",
     .alias = "kineto",  // whose traces are Chrome's
     .what = "a Chrome trace",
     .looks = "it looks like JSON, as Chrome and Kineto traces do",
     .is_none = "",
     .remedy = "",
     .looks_like = LooksLikeChrome,
     .read = ReadAsChrome,
     .read_end = ReadChromeEnd},
    {.name = "nsys-sqlite",
     .alias = "",
     .is_text = false,
     .what = "an Nsight Systems export",
     .looks = "it is an SQLite database, as exports of Nsight Systems are",
     .is_none = "it is no SQLite database",
     .remedy = "export it with nsys export --type sqlite",
     .looks_like = LooksLikeDatabase,
     .read = ReadAsNsys},
};

}  // namespace

const SourceFormat* FindSourceFormat(std::string_view name) {
  for (const SourceFormat& format : kFormats) {
    if (!name.empty() && (format.name == name || format.alias == name)) return &format;
  }
  return nullptr;
}

const SourceFormat* SniffSourceFormat(std::span<const char> first) {
  for (const SourceFormat& format : kFormats) {
    if (format.looks_like(first)) return &format;
  }
  return nullptr;
}

std::vector<std::string_view> SourceFormatNames() {
  std::vector<std::string_view> names = {kAnyFormat};
  for (const SourceFormat& format : kFormats) {
    if (!format.alias.empty()) names.push_back(format.alias);
    names.push_back(format.name);
  }
  return names;
}

std::vector<std::string> FormatsReadAs(std::string_view asked) {
  const SourceFormat* format = FindSourceFormat(asked);
  if (format == nullptr) return {};
  std::vector<std::string> names{std::string(format->name)};
  if (!format->alias.empty()) names.emplace_back(format->alias);
  return names;
}

}  // namespace kprof

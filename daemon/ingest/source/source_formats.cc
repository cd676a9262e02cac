#include "daemon/ingest/source/source_formats.h"

#include <cstdint>

#include "daemon/ingest/chrome/chrome_reader.h"
#include "daemon/ingest/nsys/nsys_reader.h"

namespace kprof {
namespace {

constexpr int64_t kShareOfSamples = 24;  // of all texts, those of counters, for each of a few readers

Status ReadAsChrome(const OpenSource& source, BatchSink& sink) {
  return ReadChrome(source.text, source.pool, sink,
                    {.readers = source.threads,
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

constexpr SourceFormat kFormats[] = {
    {.name = "chrome",
     .alias = "kineto",  // whose traces are Chrome's
     .what = "a Chrome trace",
     .looks = "it looks like JSON, as Chrome and Kineto traces do",
     .is_none = "",
     .remedy = "",
     .looks_like = LooksLikeChrome,
     .read = ReadAsChrome},
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

std::optional<std::string> FormatReadAs(std::string_view asked) {
  const SourceFormat* format = FindSourceFormat(asked);
  return format == nullptr ? std::nullopt : std::optional(std::string(format->name));
}

}  // namespace kprof

#include "daemon/ingest/source_kind.h"

#include <string_view>

#include "daemon/ingest/chrome_reader.h"
#include "daemon/ingest/nsys_reader.h"
#include "daemon/ingest/unpacker.h"

namespace kprof {

SourceKind KindOf(std::span<const char> first) {
  if (LooksLikeGzip(first)) return SourceKind::kGzip;
  if (LooksLikeZstd(first)) return SourceKind::kZstd;
  if (LooksLikeNsys({first.data(), first.size()})) return SourceKind::kSqlite;
  return LooksLikeChrome(first) ? SourceKind::kText : SourceKind::kUnknown;
}

Status NoKnownFormat(std::span<const char> first) {
  constexpr const char* kWhat = "find out what it is";
  if (first.empty()) return Fail(ErrorCode::kNotFound, kWhat, "it is empty: nothing is packed in it");
  if (std::string_view(first.data(), first.size()).find_first_not_of(" \t\r\n") == std::string_view::npos) {
    return Fail(ErrorCode::kNotFound, kWhat,
                first.size() < kSniffBytes ? "it is empty: it has white space alone"
                                           : "it begins with nothing but white space");
  }
  return Fail(ErrorCode::kNotFound, kWhat, "it is of no format that is known here",
              "give a Chrome or Kineto trace (JSON, also as .gz or .zst) or an SQLite export of Nsight Systems; "
              "archives (.tar, .zip, .xz) are unpacked first");
}

}  // namespace kprof

#include "daemon/ingest/source_kind.h"

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

Status NoKnownFormat() {
  return Fail(ErrorCode::kNotFound, "find out what it is", "it is of no format that is known here",
              "give a Chrome or Kineto trace (JSON, also as .gz or .zst) or an SQLite export of Nsight Systems; "
              "archives (.tar, .zip, .xz) are unpacked first");
}

}  // namespace kprof

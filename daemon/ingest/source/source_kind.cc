#include "daemon/ingest/source/source_kind.h"

#include <string_view>

#include "daemon/ingest/source/source_formats.h"
#include "daemon/ingest/source/unpacker.h"

namespace kprof {

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
  return Fail(ErrorCode::kNotFound, kWhat, "it is of no format that is known here",
              "give a Chrome or Kineto trace (JSON, also as .gz or .zst) or an SQLite export of Nsight Systems; "
              "archives (.tar, .zip, .xz) are unpacked first");
}

}  // namespace kprof

#include "daemon/ingest/ncu/report_messages.h"

namespace kprof {

ReportedValue ReadReportValue(std::string_view message) {
  enum ValueField : uint32_t { kTextValue = 1, kFloatValue = 2, kDoubleValue = 3, kWord32Value = 4, kWord64Value = 5 };
  ReportedValue value;
  ProtoFields fields(message);
  while (fields.Next()) {
    switch (fields.number()) {
      case kTextValue:
        if (!fields.is_number()) value.text = fields.bytes();
        break;
      case kFloatValue:
      case kDoubleValue:
        if (fields.type() == ProtoFields::kFixed32 || fields.type() == ProtoFields::kFixed64)
          value.number = fields.real();
        break;
      case kWord32Value:
      case kWord64Value:
        if (fields.is_number()) value.number = static_cast<double>(fields.value());
        break;
      default:
        break;
    }
  }
  return value;
}

std::array<std::optional<int64_t>, 3> ReadReportSizes(std::string_view message) {
  std::array<std::optional<int64_t>, 3> sizes;
  ProtoFields fields(message);
  while (fields.Next()) {
    if (fields.is_number() && fields.number() >= 1 && fields.number() <= sizes.size()) {
      sizes[fields.number() - 1] = fields.integer();
    }
  }
  return sizes;
}

std::string_view FindBytes(std::string_view message, uint32_t number) {
  ProtoFields fields(message);
  while (fields.Next()) {
    if (fields.number() == number && !fields.is_number()) return fields.bytes();
  }
  return {};
}

std::string WithoutLinkMarks(std::string_view text) {
  std::string plain;
  while (!text.empty()) {
    const size_t open = text.find('@');
    plain += text.substr(0, open);
    if (open == text.npos) break;
    text.remove_prefix(open + 1);
    const size_t close = text.find('@');
    const size_t kind_end = text.find(':');
    const size_t first_end = kind_end == text.npos ? text.npos : text.find(':', kind_end + 1);
    const bool is_word = kind_end != text.npos && text.substr(0, kind_end).find_first_of(" \n") == text.npos;
    if (close == text.npos || first_end == text.npos || first_end > close || !is_word) {
      plain += '@';
      continue;
    }
    const std::string_view kind = text.substr(0, kind_end);
    const std::string_view first = text.substr(kind_end + 1, first_end - kind_end - 1);
    const std::string_view second = text.substr(first_end + 1, close - first_end - 1);
    if (kind == "url") {
      plain += first;
      plain += " (";
      plain += second;
      plain += ')';
    } else {
      plain += second;
    }
    text.remove_prefix(close + 1);
  }
  return plain;
}

}  // namespace kprof

#include "client/cli/text/csv.h"

namespace kprof::cli {

void AppendCsvField(std::string& out, std::string_view text, bool first) {
  if (!first) out += ',';
  bool quoted = text.empty() || text.find_first_of(",\"\r\n") != std::string_view::npos || text.front() == ' ' ||
                text.back() == ' ';
  if (!quoted) {
    out += text;
    return;
  }
  out += '"';
  for (char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

void AppendCsvAbsent(std::string& out, bool first) {
  if (!first) out += ',';
}

void AppendCsvEnd(std::string& out) {
  out += "\r\n";
}

}  // namespace kprof::cli

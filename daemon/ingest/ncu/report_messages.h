// Parts that all messages of a report of Nsight Compute have: values of metrics, texts, triples of numbers.
//
// Pure; any thread. The bytes may be anything.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/ingest/ncu/report_rows.h"
#include "daemon/ingest/source/proto_fields.h"

namespace kprof {

// A value: a text (1), a float (2), a double (3), an integer (4, 5). Nothing of it: it has none of these.
ReportedValue ReadReportValue(std::string_view message);

// x (1), y (2), z (3), of a grid or a block.
std::array<std::optional<int64_t>, 3> ReadReportSizes(std::string_view message);

// The bytes of the first field of that number that has bytes; empty: there is none.
std::string_view FindBytes(std::string_view message, uint32_t number);

// The text of a rule without its marks of links: "@url:Guide:https://a@" is "Guide (https://a)", and "@section:A:B@" is
// "B", as ncu's own CSV page writes them.
std::string WithoutLinkMarks(std::string_view text);

}  // namespace kprof

// A connection with the tables and functions of a random trace, and of more of the same.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "daemon/analysis/sql/table_functions.h"
#include "tests/unit/trace_sql/random_trace.h"
#include "tests/unit/trace_sql/trace_connection.h"

namespace kprof {

class FunctionConnection : public TraceConnection {
 public:
  explicit FunctionConnection(const std::vector<TracePlace>& places, QueryBudget terms = {})
      : TraceConnection(places, std::move(terms)) {
    Expect(RegisterTraceFunctions(db(), set()));
  }
  // "" where all is well.
  std::string FailureOf(const std::string& sql) {
    const Lines lines = Ask(sql);
    return lines.empty() || !lines.back().starts_with("failed: ") ? "" : lines.back();
  }
};

}  // namespace kprof

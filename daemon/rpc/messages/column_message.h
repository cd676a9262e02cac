// Turns values of rows into the columns of a batch on the wire. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "kprof/v1/queries.pb.h"
#include "storage/sandbox/user_query.h"

namespace kprof {

// Adds a variant of nothing, integers, reals, texts and, where it has them, bytes.
template <typename Value>
void AddColumnValue(const Value& value, v1::ColumnData& column) {
  std::visit(
      [&column](const auto& one) {
        using One = std::decay_t<decltype(one)>;
        if constexpr (std::is_same_v<One, int64_t>) {
          column.add_kinds(v1::ColumnData::KIND_INTEGER);
          column.add_integers(one);
        } else if constexpr (std::is_same_v<One, double>) {
          column.add_kinds(v1::ColumnData::KIND_REAL);
          column.add_reals(one);
        } else if constexpr (std::is_same_v<One, std::string>) {
          column.add_kinds(v1::ColumnData::KIND_TEXT);
          column.add_texts(one);
        } else if constexpr (std::is_same_v<One, SqlBytes>) {
          column.add_kinds(v1::ColumnData::KIND_BYTES);
          column.add_blobs(one.bytes);
        } else {
          static_assert(std::is_same_v<One, std::monostate>);
          column.add_kinds(v1::ColumnData::KIND_UNSPECIFIED);
        }
      },
      value);
}

}  // namespace kprof

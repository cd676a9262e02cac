// Reads a list page by page, up to the number asked for, and writes it as JSON. A JSON list that breaks off is closed
// with the error, so the items before it stay readable.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "client/cli/output.h"
#include "client/cli/text/json_writer.h"
#include "storage/base/status.h"

namespace kprof::cli {

// Small enough for a first page at once and for messages of bounded size, large enough for few round trips.
constexpr int64_t kPageSize = 200;

// Calls `take` with up to `limit` items, in the order they come. `ask` fetches a page, `items_of` returns its items;
// `take` returns false when it wants no more.
template <typename Request, typename Ask, typename ItemsOf, typename Take>
Status ForEachListed(Request request, int64_t limit, const Ask& ask, const ItemsOf& items_of, const Take& take) {
  while (limit > 0) {
    request.set_page_size(static_cast<int32_t>(std::min(limit, kPageSize)));
    ASSIGN_OR_RETURN(const auto page, ask(request));
    for (const auto& item : items_of(page)) {
      if (limit-- <= 0 || !take(item)) return OkStatus();
    }
    if (page.next_page_token().empty()) return OkStatus();
    request.set_page_token(page.next_page_token());
  }
  return OkStatus();
}

// Writes {"schema": ..., `name`: [...]}. `for_each` calls its argument with each item, as ForEachListed does; `write`
// writes one item. A list that fails before its first item writes nothing.
template <typename ForEach, typename Write>
Status WriteJsonList(Output& output, const char* schema, const char* name, const ForEach& for_each,
                     const Write& write) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject().Key("schema").String(schema).Key(name).BeginArray();
  bool begun = false;
  Status status = for_each([&](const auto& item) {
    write(json, item);
    output.Write(text);
    text.clear();
    begun = true;
    return !output.broken();
  });
  if (!status.ok() && !begun) return status;
  json.EndArray();
  if (!status.ok()) WriteErrorMember(json, status);
  json.EndObject();
  output.Write(text + "\n");
  return status;
}

}  // namespace kprof::cli

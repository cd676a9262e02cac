#include "storage/catalog/id_query.h"

#include "storage/db/statement.h"

namespace kprof {

std::string Placeholders(size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) text += i == 0 ? "?" : ", ?";
  return text;
}

Result<std::vector<std::string>> SelectIds(Db& db, const IdQuery& query) {
  Statement select(db, query.sql);
  for (size_t i = 0; i < query.values.size(); ++i) {
    int index = static_cast<int>(i) + 1;
    if (const int64_t* integer = std::get_if<int64_t>(&query.values[i])) {
      select.Bind(index, *integer);
    } else {
      select.BindText(index, std::get<std::string>(query.values[i]));
    }
  }
  std::vector<std::string> ids;
  while (select.Next()) ids.emplace_back(select.Text(0));
  RETURN_IF_ERROR(select.status());
  return ids;
}

std::string EndOfPrefix(std::string prefix) {
  while (!prefix.empty() && static_cast<unsigned char>(prefix.back()) == 0xff) prefix.pop_back();
  if (!prefix.empty()) ++prefix.back();
  return prefix;
}

}  // namespace kprof

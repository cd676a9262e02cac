#include "storage/sandbox/guest_tables.h"

#include <algorithm>
#include <set>

#include "storage/sandbox/catalog_tables.h"

namespace kprof {

std::string OfferedTableNames(const GuestTables* guests) {
  std::string names;
  for (const CatalogTable& table : CatalogTables()) {
    if (FindGuestTable(guests, table.name) == nullptr) names += (names.empty() ? "" : ", ") + std::string(table.name);
  }
  if (guests == nullptr) return names;
  std::set<std::string_view> families;
  for (const GuestTable& table : guests->tables()) {
    if (table.family.empty()) {
      names += ", " + std::string(table.name);
    } else if (families.insert(table.family).second) {
      names += ", " + std::string(table.family) + "<...>";
    }
  }
  return names;
}

std::string RelatedTableNames(const GuestTables* guests, std::string_view name) {
  if (guests == nullptr) return "";
  std::string names;
  for (const GuestTable& table : guests->tables()) {
    if (table.family.empty() || !name.starts_with(table.family)) continue;
    for (std::string_view rest = name.substr(table.family.size()); !rest.empty();) {
      const std::string_view word = rest.substr(0, rest.find('_'));
      rest.remove_prefix(std::min(rest.size(), word.size() + 1));
      if (word.empty() || table.name.find(word, table.family.size()) == std::string_view::npos) continue;
      names += (names.empty() ? "" : ", ") + std::string(table.name);
      break;
    }
  }
  return names;
}

const GuestTable* FindGuestTable(const GuestTables* guests, std::string_view name) {
  if (guests == nullptr) return nullptr;
  const auto tables = guests->tables();
  const auto found =
      std::find_if(tables.begin(), tables.end(), [&](const GuestTable& table) { return table.name == name; });
  return found == tables.end() ? nullptr : &*found;
}

}  // namespace kprof

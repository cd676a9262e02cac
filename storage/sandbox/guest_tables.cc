#include "storage/sandbox/guest_tables.h"

#include <algorithm>

#include "storage/sandbox/catalog_tables.h"

namespace kprof {

std::string OfferedTableNames(const GuestTables* guests) {
  std::string names;
  for (const CatalogTable& table : CatalogTables()) {
    if (FindGuestTable(guests, table.name) == nullptr) names += (names.empty() ? "" : ", ") + std::string(table.name);
  }
  if (guests == nullptr) return names;
  for (const GuestTable& table : guests->tables()) names += ", " + table.name;
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

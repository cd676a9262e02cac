// The build puts this before each file of the extension. So the extension uses the SQLite of the program that loads it,
// through the table of functions that the program hands over, and not a second SQLite beside it.
#pragma once

#include <sqlite3ext.h>

extern "C" {
SQLITE_EXTENSION_INIT3
}

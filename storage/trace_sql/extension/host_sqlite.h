// Put before each file of the extension by its build: SQLite is that of the program which loads it, reached through the
// table of functions that it hands over, and not a second one beside it.
#pragma once

#include <sqlite3ext.h>

extern "C" {
SQLITE_EXTENSION_INIT3
}

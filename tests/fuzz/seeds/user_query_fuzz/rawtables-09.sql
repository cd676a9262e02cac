SELECT rowid FROM runs

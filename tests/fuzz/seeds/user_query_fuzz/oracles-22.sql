SELECT * FROM run WHERE id IN ('r0', 'r3', 'r9') AND json_extract('{}', cwd)

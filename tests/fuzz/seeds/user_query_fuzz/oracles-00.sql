SELECT * FROM run WHERE json_extract('{}', command)

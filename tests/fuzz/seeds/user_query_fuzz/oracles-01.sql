SELECT * FROM label WHERE json_extract('{}', value) = 1

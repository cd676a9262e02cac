SELECT * FROM label ORDER BY json_extract('{}', value)

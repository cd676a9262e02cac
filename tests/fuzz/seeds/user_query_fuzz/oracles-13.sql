SELECT * FROM label WHERE value = 'SECRET' OR json_extract('{}', value) IS NULL AND key = 'path'

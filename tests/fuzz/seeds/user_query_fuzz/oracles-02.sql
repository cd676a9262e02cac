SELECT * FROM label WHERE key = 'path' AND value LIKE '$.S%' AND json_extract('{}', value || ' x')

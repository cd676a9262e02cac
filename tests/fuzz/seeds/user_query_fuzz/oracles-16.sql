SELECT * FROM run RIGHT JOIN label ON json_extract('{}', label.value) WHERE label.key = 'path'

SELECT * FROM label a JOIN label b ON a.value = b.value AND json_extract('{}', b.value) WHERE a.key = 'path'

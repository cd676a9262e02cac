SELECT * FROM label LEFT JOIN run ON run.id = label.run AND json_extract('{}', label.value)

SELECT * FROM run LEFT JOIN label ON label.run = run.id AND json_extract('{}', label.value)

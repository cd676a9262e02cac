SELECT * FROM label WHERE value LIKE '%SECRET%' AND json(value)

SELECT * FROM metric WHERE unit = 'SECRET' AND json('{') = 1

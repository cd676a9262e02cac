SELECT * FROM 'runs'

SELECT * FROM run WHERE id > 'r2' AND 'x' LIKE 'y' ESCAPE command

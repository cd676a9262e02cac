SELECT * FROM run WHERE id IN (SELECT run FROM label WHERE json_extract('{}', value))

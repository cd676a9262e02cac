WITH run AS (SELECT * FROM main.runs) SELECT * FROM run

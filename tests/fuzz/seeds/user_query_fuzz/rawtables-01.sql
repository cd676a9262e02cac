SELECT * FROM main.runs

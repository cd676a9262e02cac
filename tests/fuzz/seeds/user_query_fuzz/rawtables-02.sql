SELECT * FROM temp.runs

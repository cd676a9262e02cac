SELECT 1 FROM main.runs

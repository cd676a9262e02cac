-- What does the database do for this question?
EXPLAIN QUERY PLAN SELECT value FROM metric WHERE run = 'r2' AND name = 'gpu_ms'

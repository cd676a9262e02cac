-- What is a call handed, and what does it work out?
EXPLAIN QUERY PLAN SELECT name, sum_ns FROM sum_by('name') WHERE category = 'kernel' AND ts_ns BETWEEN 5 AND 9

-- What does the database do for this question?
EXPLAIN QUERY PLAN SELECT sum(dur_ns) FROM slice WHERE ts_ns >= 5 AND ts_ns < 9 AND name GLOB 'nccl*'

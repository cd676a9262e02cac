-- What is on stream 7 of rank 0, in three pixels?
SELECT depth, begin_ns, end_ns, name, count, busy_ns FROM tiles(3) WHERE rank = 0 AND stream = 7 ORDER BY depth, begin_ns

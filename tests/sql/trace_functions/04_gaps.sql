-- Where does a stream stand still for longest?
SELECT rank, begin_ns, gap_ns FROM gaps('stream', 3) WHERE stream = 7 ORDER BY gap_ns DESC, begin_ns, rank LIMIT 3

-- Which operators take the most time of their own, without what they call?
SELECT name, count, self_ns FROM self_time('name') WHERE category = 'cpu_op' ORDER BY self_ns DESC, name

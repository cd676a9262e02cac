-- How are durations spread?
SELECT at_least_ns, count, sum_ns FROM histogram(100000) WHERE category = 'kernel' AND count > 0

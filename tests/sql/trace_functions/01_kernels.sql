-- Which kernels take the most time, and how does it vary?
SELECT name, count, sum_ns, p50_ns, p99_ns FROM sum_by('name') WHERE category = 'kernel' ORDER BY sum_ns DESC

-- Which rank is slow, and with which kernel?
SELECT rank, name, sum_ns FROM sum_by('rank', 'name') WHERE category = 'kernel' ORDER BY name, rank

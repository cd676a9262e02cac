-- What share of its GPU time does each rank spend on what?
SELECT k.rank, k.category, round(100.0 * k.sum_ns / t.sum_ns, 1) AS percent
FROM sum_by('rank', 'category') k JOIN sum_by('rank') t ON t.key = k.key
WHERE k.category IN ('kernel', 'gpu_memcpy', 'gpu_memset') AND t.category IN ('kernel', 'gpu_memcpy', 'gpu_memset') ORDER BY k.rank, percent DESC

SELECT * FROM metric WHERE kernel = 'gemm SECRET' AND printf('%s', zeroblob(99999999)) = 1

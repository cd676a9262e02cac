SELECT * FROM `runs`

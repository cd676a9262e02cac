SELECT * FROM [runs]

SELECT * FROM catalog.runs

SELECT count(*) FROM main.run_labels

-- How much of the communication is hidden behind everything else on the GPU?
SELECT rank, one_ns AS communication_ns, both_ns AS hidden_ns FROM overlap('nccl*') WHERE track_kind = 'gpu_stream' ORDER BY rank

"""What the machines have in common: samples, hyperparameters, linear constraints, the two QPs."""

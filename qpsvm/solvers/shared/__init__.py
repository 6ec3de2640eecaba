"""What all of our solvers share."""

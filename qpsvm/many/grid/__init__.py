"""Many parameters of one machine: paths, grids and cross-validation, over one Gram matrix a kernel."""

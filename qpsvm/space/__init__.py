"""Feature spaces: kernels, blocks of their values, feature maps, symmetric matrices with structure."""

"""Our own algorithms: arrays and operators in, arrays out. They know neither problems nor the QP class."""

"""Sources of rows outside memory."""

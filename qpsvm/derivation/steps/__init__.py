"""The steps of each machine, and those that several share."""

"""What a solve returns: certified results, decision functions on their own, and both on disk."""

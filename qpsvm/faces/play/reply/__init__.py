"""What the server answers to a state of the page, part by part."""

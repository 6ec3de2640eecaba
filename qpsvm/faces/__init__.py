"""User interfaces: the command line (`cli`), the live page (`play`), and pictures (`plotting`)."""

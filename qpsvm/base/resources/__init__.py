"""The computer that a solve runs on: its clock, memory, threads, and the user at its keyboard."""

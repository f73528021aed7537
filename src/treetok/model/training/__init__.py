"""The training loop, on one device or several, with checkpoints and logs."""

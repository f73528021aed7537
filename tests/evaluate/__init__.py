"""A package, so that its conftest.py is not mistaken for the one above it."""

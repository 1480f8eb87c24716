"""Notebooks: executed beside the build, and pages like any other."""
